/** Markup that is safe already; any other text is escaped. */
export class Markup {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Content = Markup | string | readonly (Markup | string)[];

const SPECIAL: ReadonlyMap<string, string> = new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
  ["'", '&#39;'],
]);
/** No document may contain them, apart from the two that are white space. */
const FORBIDDEN = /[\p{Cc}\ufffe\uffff]/gu;
const SPACES: ReadonlySet<string> = new Set(['\t', '\n']);

/** One element. Names of elements and attributes are ours; values and content may come from anybody. */
export function element(name: string, attributes: Readonly<Record<string, string>>, content: Content = []): Markup {
  const written = Object.entries(attributes).map(([key, value]) => ` ${key}="${escape(value)}"`);
  const parts = Array.isArray(content) ? content : [content];
  const inside = parts.map((part: Markup | string) => (part instanceof Markup ? part.text : escape(part))).join('');
  return new Markup(`<${name}${written.join('')}>${inside}</${name}>`);
}

function escape(text: string): string {
  return text
    .toWellFormed()
    .replace(FORBIDDEN, (each) => (SPACES.has(each) ? each : '\ufffd'))
    .replace(/[&<>"']/g, (each) => SPECIAL.get(each) ?? '');
}
