import path from "node:path";

import js from "@eslint/js";
import { createTypeScriptImportResolver } from "eslint-import-resolver-typescript";
import importX from "eslint-plugin-import-x";
import jsxA11y from "eslint-plugin-jsx-a11y";
import reactHooks from "eslint-plugin-react-hooks";
import globals from "globals";
import tseslint from "typescript-eslint";

const features = ["auth", "sessions", "chat", "account", "admin"];

/** File names are kebab-case and say what is in the file: no `index` barrels. */
const fileNames = {
  meta: { type: "suggestion", schema: [] },
  create(context) {
    return {
      Program(node) {
        const name = path.basename(context.filename);
        if (!/^[a-z0-9]+([.-][a-z0-9]+)*\.(js|mjs|ts|tsx)$/.test(name)) {
          context.report({ node, message: `File name "${name}" is not kebab-case.` });
        }
        if (/^index\.(js|ts|tsx)$/.test(name)) {
          context.report({ node, message: "No barrels: import from the file that defines the name." });
        }
      },
    };
  },
};

const noLiteralText = [
  {
    selector: "JSXText[value=/[A-Za-z]/]",
    message: "Text that people read belongs in src/locales/en.json.",
  },
  {
    selector: "JSXAttribute[name.name=/^(aria-label|aria-description|title|placeholder|alt)$/] > Literal",
    message: "Text that people read belongs in src/locales/en.json.",
  },
  {
    selector: "JSXExpressionContainer > Literal[value=/[A-Za-z]{2,}/]:not(JSXAttribute *)",
    message: "Text that people read belongs in src/locales/en.json.",
  },
];

export default tseslint.config(
  { ignores: ["node_modules", "plugin-sdk/dist", "src/shared/api/*.gen.ts"] },
  js.configs.recommended,
  {
    files: ["**/*.{ts,tsx}"],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      "@typescript-eslint/consistent-type-definitions": "off",
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": [
        "error",
        { ignoreArrowShorthand: true, ignoreVoidReturningFunctions: true },
      ],
      "@typescript-eslint/no-unused-vars": ["error", { ignoreRestSiblings: true, varsIgnorePattern: "^_" }],
      "@typescript-eslint/switch-exhaustiveness-check": [
        "error",
        { considerDefaultExhaustiveForUnions: true },
      ],
    },
  },
  {
    files: ["src/**/*.{ts,tsx}"],
    plugins: {
      "import-x": importX,
      "react-hooks": reactHooks,
      local: { rules: { "file-names": fileNames } },
    },
    extends: [jsxA11y.flatConfigs.strict],
    languageOptions: { globals: globals.browser },
    settings: { "import-x/resolver-next": [createTypeScriptImportResolver({ project: "tsconfig.json" })] },
    rules: {
      ...reactHooks.configs.recommended.rules,
      "local/file-names": "error",
      "no-eval": "error",
      "no-console": "error",
      "no-restricted-syntax": ["error", ...noLiteralText],
      "import-x/no-default-export": "error",
      "import-x/no-cycle": "error",
      "import-x/order": ["error", { "newlines-between": "always", alphabetize: { order: "asc" } }],
      "import-x/no-restricted-paths": [
        "error",
        {
          basePath: import.meta.dirname,
          zones: [
            { target: "./src/shared", from: ["./src/features", "./src/app"] },
            { target: "./src/features", from: "./src/app" },
            ...features.map((name) => ({
              target: `./src/features/${name}`,
              from: "./src/features",
              except: [`./${name}`],
              message: "Features do not know each other: share through src/shared or compose in src/app.",
            })),
          ],
        },
      ],
    },
  },
  {
    files: ["src/**/*.test.{ts,tsx}"],
    rules: { "no-restricted-syntax": "off" },
  },
  { files: ["scripts/**/*.mjs", "*.config.js"], languageOptions: { globals: globals.node } },
  { files: ["public/**/*.js"], languageOptions: { globals: globals.browser, sourceType: "script" } },
);
