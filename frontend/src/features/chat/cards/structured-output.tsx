import { useTranslation } from "react-i18next";

import { LongText } from "@/features/chat/tools/long-text";

/** The data that a session with a schema asked for. */
export function StructuredOutput({ value }: { readonly value: unknown }) {
  const { t } = useTranslation();
  return <LongText label={t("result.structured")} text={JSON.stringify(value, null, 2)} language="json" />;
}
