// Markdown as it is shown, by the real renderer; the highlighter is loaded for real where a test waits for it.
import { render, screen } from "@testing-library/react";
import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { IncrementalLexer } from "@/features/chat/markdown/incremental-lexer";
import { Markdown } from "@/features/chat/markdown/markdown";

import "@/shared/i18n/i18n";

const show = (text: string, isGrowing = false) =>
  render(<Markdown text={text} isGrowing={isGrowing} />).container;

describe("what a model writes cannot reach outside its block", () => {
  test("HTML is shown as the text it is", () => {
    const page = show('<img src="x" onerror="alert(1)"> and <script>alert(1)</script>\n\n<div>block</div>');
    expect(page.querySelector("img, script, .md div")).toBeNull();
    expect(page.textContent).toContain('<img src="x" onerror="alert(1)">');
    expect(page.textContent).toContain("<div>block</div>");
  });

  test("an image is a link and is not loaded", () => {
    const page = show("![a chart](https://example.com/x.png?secret=1)");
    expect(page.querySelector("img")).toBeNull();
    expect(screen.getByRole("link", { name: "Image: a chart" })).toHaveProperty(
      "href",
      "https://example.com/x.png?secret=1",
    );
  });

  test.each([
    "javascript:alert(1)",
    "data:text/html,x",
    "vbscript:x",
    "file:///etc/passwd",
    "/relative",
    "JaVaScRiPt:x",
  ])("the address %s is not a link", (href) => {
    expect(show(`[text](${href})`).querySelector("a")).toBeNull();
    expect(screen.getByText("text")).toBeDefined();
  });

  test("links open a page of their own that knows nothing of this one", () => {
    show("[site](https://example.com) and <mailto:a@example.com>");
    for (const link of screen.getAllByRole("link")) {
      expect(link.getAttribute("target")).toBe("_blank");
      expect(link.getAttribute("rel")).toBe("noopener noreferrer nofollow");
      expect(link.getAttribute("referrerpolicy")).toBe("no-referrer");
    }
  });

  test("a link says where it leads, whatever its text says", () => {
    const page = show(
      "[https://bank.example](https://evil.example/x) and https://example.com and [a](mailto:b@c.example)",
    );
    expect(Array.from(page.querySelectorAll(".md-place"), (place) => place.textContent)).toEqual([
      "evil.example",
      "b@c.example",
    ]);
  });

  test("a host that looks like another is shown by its letters on the wire", () => {
    expect(show("[bank](https://b\u0430nk.example)").querySelector(".md-place")?.textContent).toMatch(
      /^xn--/,
    );
  });
});

describe("GitHub's Markdown", () => {
  test("tables have headers and alignment", () => {
    show("| a | b |\n|---|--:|\n| 1 | **2** |");
    expect(screen.getAllByRole("columnheader").map((cell) => cell.textContent)).toEqual(["a", "b"]);
    expect(screen.getByText("2").closest("td")?.className).toBe("text-right");
  });

  test("task lists have boxes that are read-only", () => {
    show("- [x] done\n- [ ] open");
    const boxes = screen.getAllByRole<HTMLInputElement>("checkbox");
    expect(boxes.map(({ checked, disabled }) => [checked, disabled])).toEqual([
      [true, true],
      [false, true],
    ]);
  });

  test("character references become characters", () => {
    expect(show("a &amp; b &lt;c&gt; &#169; &unknown;").textContent).toBe("a & b <c> © &unknown;");
  });

  test("code has a language, a copy button and, when it is complete, colours", async () => {
    const page = show("```python\ndef f(): return 1\n```");
    expect(screen.getByRole("button", { name: "Copy code" })).toBeDefined();
    expect(page.querySelector("pre")?.textContent).toBe("def f(): return 1");
    await expect
      .poll(() => page.querySelectorAll("pre span[style]").length, { timeout: 5_000 })
      .toBeGreaterThan(1);
    expect(page.querySelector("pre")?.textContent).toBe("def f(): return 1");
  });
});

describe("while text is still arriving", () => {
  test("unfinished marks are closed and unfinished links show their text", () => {
    expect(show("some **bold te", true).querySelector("strong")?.textContent).toBe("bold te");
    expect(show("see [the docs](https://exam", true).textContent).toBe("see the docs");
  });

  test("a fence that is open shows its code", () => {
    expect(show("```js\nconst a = 1;", true).querySelector("pre")?.textContent).toBe("const a = 1;");
  });

  test("any way the text arrives, every step reads the same as the text so far read at once", () => {
    const piece = fc.constantFrom(
      "# Title\n\n",
      "plain words ",
      "**bold** ",
      "`code` ",
      "\n\n",
      "\n",
      "- item\n",
      "  - inner\n",
      "1. one\n",
      "> quote\n",
      "```js\nlet a;\n```\n",
      "| a | b |\n|---|---|\n| 1 | 2 |\n",
      "---\n",
      "[l](https://x.y) ",
      "<b>",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 25 }), (pieces) => {
        const lexer = new IncrementalLexer();
        let text = "";
        for (const next of pieces) {
          text += next;
          const raws = (tokens: readonly { raw: string }[]) => tokens.map(({ raw }) => raw.trim());
          expect(raws(lexer.parse(text, true))).toEqual(raws(new IncrementalLexer().parse(text, true)));
        }
      }),
      { numRuns: 300 },
    );
  });

  test("settled blocks keep their identity", () => {
    const lexer = new IncrementalLexer();
    const before = lexer.parse("one\n\ntwo\n\nthree\n\nfour", true);
    const after = lexer.parse("one\n\ntwo\n\nthree\n\nfour and more", true);
    expect(after[0]).toBe(before[0]);
    expect(after[1]).toBe(before[1]);
  });
});
