import {
  Bot,
  FilePen,
  FilePlus2,
  FileText,
  Globe,
  ListChecks,
  MessageCircleQuestionMark,
  Plug,
  Search,
  Sparkles,
  Terminal,
  Wrench,
  type LucideIcon,
} from "lucide-react";

const icons: Readonly<Record<string, LucideIcon>> = {
  Agent: Bot,
  AskUserQuestion: MessageCircleQuestionMark,
  Bash: Terminal,
  BashOutput: Terminal,
  Edit: FilePen,
  Glob: Search,
  Grep: Search,
  KillShell: Terminal,
  LS: Search,
  MultiEdit: FilePen,
  NotebookEdit: FilePen,
  Read: FileText,
  Skill: Sparkles,
  Task: Bot,
  TodoWrite: ListChecks,
  WebFetch: Globe,
  WebSearch: Globe,
  Write: FilePlus2,
};

export function ToolIcon({ tool }: { readonly tool: string }) {
  const Icon = icons[tool] ?? (tool.startsWith("mcp__") ? Plug : Wrench);
  return <Icon size={13} aria-hidden />;
}
