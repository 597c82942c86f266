import type { PluginProblem } from "@/shared/api/plugins";
import { cn } from "@/shared/lib/class-names";
import { VisibleText } from "@/shared/ui/visible-text";

type ProblemListProps = {
  readonly title: string;
  readonly problems: readonly PluginProblem[];
  /** Problems stop a plugin, warnings do not. */
  readonly look: "problem" | "warning";
};

/** What is wrong with the files of a plugin: where, what, and what to write instead. */
export function ProblemList({ title, problems, look }: ProblemListProps) {
  if (problems.length === 0) return null;
  return (
    <section
      aria-label={title}
      className={cn(
        "rounded-lg border px-3.5 py-2.5 text-sm",
        look === "problem" ? "border-red-line bg-red-wash" : "border-amber-line bg-amber-wash",
      )}
    >
      <h4 className={cn("font-medium", look === "problem" ? "text-red" : "text-amber")}>{title}</h4>
      <ul className="mt-1 space-y-1.5">
        {problems.map(({ file, path, message, hint }) => (
          <li key={`${file} ${path} ${message}`} className="break-words">
            <code className="text-xs">{path === "" ? file : `${file}: ${path}`}</code>{" "}
            <VisibleText text={message} />
            {hint !== "" && (
              <span className="block text-ink-soft">
                <VisibleText text={hint} />
              </span>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
