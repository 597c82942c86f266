import { useTranslation } from "react-i18next";

import { toVisiblePieces } from "@/shared/lib/visible-text";

/** A text in which invisible and reordering characters show as their code points. */
export function VisibleText({ text }: { readonly text: string }) {
  const { t } = useTranslation();
  return toVisiblePieces(text).map((piece, index) =>
    piece.isHidden ? (
      <span
        key={index}
        title={t("permission.hiddenCharacter", { code: piece.text })}
        className="mx-px rounded border border-red-line bg-red-wash px-1 text-[0.6875rem] text-red [unicode-bidi:isolate]"
      >
        {piece.text}
      </span>
    ) : (
      <span key={index}>{piece.text}</span>
    ),
  );
}
