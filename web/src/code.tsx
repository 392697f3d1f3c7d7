import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import css from "highlight.js/lib/languages/css";
import go from "highlight.js/lib/languages/go";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import markdown from "highlight.js/lib/languages/markdown";
import python from "highlight.js/lib/languages/python";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import type { ReactNode } from "react";

const languages = { bash, css, go, java, javascript, json, markdown, python, rust, sql, typescript, xml, yaml };
for (const [name, l] of Object.entries(languages)) hljs.registerLanguage(name, l);
hljs.registerAliases(["tsx", "mts"], { languageName: "typescript" });

// The tree that highlight.js makes beside its HTML, which is not used.
interface Node { scope?: string; children: (Node | string)[] }

const paint = (n: Node | string, i: number): ReactNode => typeof n === "string" ? n
  : n.scope ? <span key={i} className={"hl-" + n.scope.split(".")[0]}>{n.children.map(paint)}</span> : n.children.map(paint);

export function Paint({ text, file = "" }: { text: string; file?: string }) {
  const language = hljs.getLanguage(file.split(".").pop() ?? "") ? file.split(".").pop()! : "";
  if (!language || text.length > 100_000) return <>{text}</>;
  const r = hljs.highlight(text, { language, ignoreIllegals: true });
  return <>{(r._emitter as unknown as { rootNode: Node }).rootNode.children.map(paint)}</>;
}
export const Code = Paint;
