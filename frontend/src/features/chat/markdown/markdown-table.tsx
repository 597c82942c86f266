import type { Tokens } from "marked";
import { useTranslation } from "react-i18next";

import { Inline } from "@/features/chat/markdown/markdown-inline";

const alignments = { left: "text-left", center: "text-center", right: "text-right" } as const;

/** A wide table scrolls in itself; the region takes the focus so that the keyboard can scroll it too. */
export function MarkdownTable({ table }: { readonly table: Tokens.Table }) {
  const { t } = useTranslation();
  const alignment = (index: number) => alignments[table.align[index] ?? "left"];
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div className="md-table" role="region" aria-label={t("code.table")} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {table.header.map((cell, index) => (
              <th key={index} scope="col" className={alignment(index)}>
                <Inline tokens={cell.tokens} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, rowIndex) => (
            <tr key={rowIndex}>
              {row.map((cell, index) => (
                <td key={index} className={alignment(index)}>
                  <Inline tokens={cell.tokens} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
