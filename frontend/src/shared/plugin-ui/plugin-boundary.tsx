import { Component, type ReactNode } from "react";

type Props = { readonly children: ReactNode; readonly note: ReactNode };

/** Shows a note in place of a component of a plugin that could not be loaded or threw. The page around it goes on. */
export class PluginBoundary extends Component<Props, { readonly hasFailed: boolean }> {
  override readonly state = { hasFailed: false };

  static getDerivedStateFromError(): { readonly hasFailed: boolean } {
    return { hasFailed: true };
  }

  override render(): ReactNode {
    return this.state.hasFailed ? this.props.note : this.props.children;
  }
}
