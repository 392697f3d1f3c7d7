import Anser from "anser";
import { lexer, type Token, type Tokens } from "marked";
import type { ReactNode } from "react";
import { Code } from "./code";
import { visible } from "./text";

// Markdown is made to elements from its tokens: nothing of it is ever HTML.
export function Markdown({ text }: { text: string }) {
  let list: Token[];
  try { list = lexer(visible(text)); } catch { return <p className="plain">{visible(text)}</p>; } // nested too deep for the stack
  let above = 0; // headings go down by one level at a time, whatever was written
  for (const t of list) if (t.type === "heading") above = t.depth = Math.min(t.depth, above + 1);
  return <div className="md">{blocks(list)}</div>;
}

const blocks = (list: Token[]): ReactNode => list.map((t, i) => <Block key={i} t={t} />);

function Block({ t }: { t: Token }) {
  switch (t.type) {
    case "space": case "def": return null;
    case "heading": {
      const H = `h${Math.min(6, (t as Tokens.Heading).depth + 2)}` as "h3";
      return <H>{inline(t.tokens)}</H>;
    }
    case "code": return <pre className="code" tabIndex={0} role="group" aria-label={t.lang || "Code"}><Code text={t.text} file={"x." + (t.lang || "txt")} /></pre>;
    case "blockquote": return <blockquote>{blocks(t.tokens ?? [])}</blockquote>;
    case "hr": return <hr />;
    case "list": {
      const l = t as Tokens.List, L = l.ordered ? "ol" : "ul";
      return <L start={l.ordered && typeof l.start === "number" ? l.start : undefined}>{l.items.map((x, i) => <li key={i}>{x.task && (x.checked ? "☑ " : "☐ ")}{blocks(x.tokens)}</li>)}</L>;
    }
    case "table": {
      const b = t as Tokens.Table;
      return <div className="lines" tabIndex={0} role="group" aria-label="Table"><table><thead><tr>{b.header.map((c, i) => <th key={i}>{inline(c.tokens)}</th>)}</tr></thead>
        <tbody>{b.rows.map((r, i) => <tr key={i}>{r.map((c, k) => <td key={k}>{inline(c.tokens)}</td>)}</tr>)}</tbody></table></div>;
    }
    case "text": return <>{"tokens" in t && t.tokens ? inline(t.tokens) : (t as Tokens.Text).text}</>;
    case "paragraph": return <p>{inline(t.tokens)}</p>;
  }
  return <p>{t.raw}</p>;
}

function inline(list: Token[] | undefined): ReactNode {
  return list?.map((t, i) => {
    switch (t.type) {
      case "strong": return <strong key={i}>{inline(t.tokens)}</strong>;
      case "em": return <em key={i}>{inline(t.tokens)}</em>;
      case "del": return <del key={i}>{inline(t.tokens)}</del>;
      case "codespan": return <code key={i}>{t.text}</code>;
      case "br": return <br key={i} />;
      case "link": return /^https?:\/\//.test(t.href) ? <a key={i} href={t.href} target="_blank" rel="noreferrer noopener" title={t.href}>{/^\s*(https?:|www\.)/i.test(t.text) ? t.href : inline(t.tokens)}</a> : <span key={i}>{inline(t.tokens)}</span>;
      case "image": return <span key={i}>[{t.text}]</span>;
      case "escape": return t.text;
      case "text": return "tokens" in t && t.tokens ? <span key={i}>{inline(t.tokens)}</span> : t.text;
    }
    return t.raw;
  });
}

// Terminal shows what a command printed, with its colours.
export function Terminal({ text, label }: { text: string; label: string }) {
  // adroit writes an escape as text, so that no terminal obeys it.
  const parts = Anser.ansiToJson(text.replace(/\\x1b\[([\d;]*)m/g, "\u001b[$1m").replace(/\r+\n?/g, "\n"), { use_classes: true, remove_empty: true });
  return <pre className="term" tabIndex={0} role="group" aria-label={label}>{parts.map((p, i) => {
    const name = [p.fg, p.bg && "on-" + p.bg, ...p.decorations.filter((d) => ["bold", "italic", "underline"].includes(d))].filter(Boolean).join(" ");
    return name ? <span key={i} className={name}>{visible(p.content)}</span> : visible(p.content);
  })}</pre>;
}
