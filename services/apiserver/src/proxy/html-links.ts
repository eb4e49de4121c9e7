import { pipeline, Readable, type Transform } from 'node:stream';
import { createGunzip, createInflate } from 'node:zlib';
import { HTML_TAG_MAX } from '../limits.ts';

/** Attributes whose value is one link, by element. */
const LINK_ATTRIBUTES: ReadonlyMap<string, readonly string[]> = new Map([
  ['a', ['href']],
  ['applet', ['codebase']],
  ['area', ['href']],
  ['audio', ['src']],
  ['base', ['href']],
  ['blockquote', ['cite']],
  ['body', ['background']],
  ['button', ['formaction']],
  ['command', ['icon']],
  ['del', ['cite']],
  ['embed', ['src']],
  ['form', ['action']],
  ['frame', ['longdesc', 'src']],
  ['head', ['profile']],
  ['html', ['manifest']],
  ['iframe', ['longdesc', 'src']],
  ['img', ['longdesc', 'src', 'usemap']],
  ['input', ['formaction', 'src', 'usemap']],
  ['ins', ['cite']],
  ['link', ['href']],
  ['object', ['classid', 'codebase', 'data', 'usemap']],
  ['q', ['cite']],
  ['script', ['src']],
  ['source', ['src']],
  ['video', ['poster', 'src']],
]);

/** Elements whose content is text: a `<` in them begins no element. */
const TEXT_ELEMENTS: ReadonlySet<string> = new Set(['script', 'style', 'textarea', 'title', 'xmp']);

/** Decoders by content coding. A page in any other coding passes unchanged. */
const DECODERS: ReadonlyMap<string, (() => Transform) | undefined> = new Map([
  ['', undefined],
  ['identity', undefined],
  ['gzip', createGunzip],
  ['deflate', createInflate],
]);

/** True when these headers describe HTML whose links can be rewritten, in a charset that includes ASCII. */
export function isRewritable(headers: Readonly<Record<string, string>>): boolean {
  const type = headers['content-type'] ?? '';
  return (
    /^\s*text\/html\s*(?:;|$)/i.test(type) &&
    !/charset\s*=\s*"?utf-(?:16|32)/i.test(type) &&
    DECODERS.has(coding(headers))
  );
}

const coding = (headers: Readonly<Record<string, string>>): string =>
  (headers['content-encoding'] ?? '').trim().toLowerCase();

/** The page with each link passed through `rewrite`, without content coding. Only the tag that is being read is kept. */
export async function* withLinks(
  chunks: AsyncIterable<Uint8Array>,
  headers: Readonly<Record<string, string>>,
  rewrite: (link: string) => string,
): AsyncIterable<Uint8Array> {
  const rewriter = new LinkRewriter(rewrite);
  for await (const chunk of decoded(chunks, coding(headers))) {
    const text = rewriter.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length).toString('latin1'));
    if (text !== '') yield Buffer.from(text, 'latin1');
  }
  const rest = rewriter.end();
  if (rest !== '') yield Buffer.from(rest, 'latin1');
}

function decoded(chunks: AsyncIterable<Uint8Array>, name: string): AsyncIterable<Uint8Array> {
  const decoder = DECODERS.get(name)?.();
  if (decoder === undefined) return chunks;
  // The decoder ends with the error of what it reads, which its reader then sees.
  return pipeline(Readable.from(chunks, { objectMode: false }), decoder, NOTHING_TO_DO);
}

const NOTHING_TO_DO = (): void => {};

type Place = 'text' | 'tag' | 'comment' | { readonly textOf: string };

/** Reads HTML piece by piece, each character once. */
export class LinkRewriter {
  readonly #rewrite: (link: string) => string;
  #place: Place = 'text';
  /** Read and not yet passed on: part of a tag, or the beginning of a mark. */
  #kept = '';
  #quote = '';
  #last = '';

  constructor(rewrite: (link: string) => string) {
    this.#rewrite = rewrite;
  }

  push(piece: string): string {
    let out = '';
    let at = 0;
    let lower: string | undefined;
    while (at < piece.length) {
      if (this.#place === 'tag') {
        const end = this.#tagEnd(piece, at);
        this.#kept += piece.slice(at, end);
        at = end;
        out += this.#endTag();
      } else if (this.#place === 'text') {
        const open = piece.indexOf('<', at);
        out += piece.slice(at, open < 0 ? piece.length : open);
        at = open < 0 ? piece.length : open + 1;
        if (open >= 0) this.#beginTag();
      } else {
        const mark = this.#place === 'comment' ? '-->' : `</${this.#place.textOf}`;
        // Once for all marks of the piece: a page may have thousands.
        lower ??= piece.toLowerCase();
        const { text, next } = this.#upTo(mark, { piece, lower }, at);
        out += text;
        at = next;
      }
    }
    return out;
  }

  /** Returns the buffered rest unchanged. */
  end(): string {
    const kept = this.#kept;
    this.#kept = '';
    return kept;
  }

  #beginTag(): void {
    this.#place = 'tag';
    this.#kept = '<';
    this.#quote = '';
    this.#last = '';
  }

  /** Returns the position after the end of the tag, or after the character that shows that it is none or a comment. */
  #tagEnd(piece: string, from: number): number {
    for (let at = from; at < piece.length; at += 1) {
      const char = piece.charAt(at);
      const length = this.#kept.length + at - from;
      if (length === 1 && !/[a-z!/?]/i.test(char)) return this.#leave(at);
      if (length === 3 && char === '-' && `${this.#kept}${piece.slice(from, at)}` === '<!-')
        return this.#comment(at + 1);
      if (length >= HTML_TAG_MAX) return this.#leave(at);
      if (this.#quote !== '') {
        if (char === this.#quote) this.#quote = '';
      } else if (char === '>') return this.#leave(at + 1);
      else if ((char === '"' || char === "'") && this.#last === '=') this.#quote = char;
      if (!/\s/.test(char)) this.#last = char;
    }
    return piece.length;
  }

  #leave(at: number): number {
    this.#place = 'text';
    return at;
  }

  #comment(at: number): number {
    this.#place = 'comment';
    return at;
  }

  #endTag(): string {
    if (this.#place === 'tag') return '';
    const tag = this.end();
    const name = /^<([a-z][^\s/>]*)/i.exec(tag)?.[1]?.toLowerCase() ?? '';
    if (!tag.endsWith('>')) return tag;
    if (TEXT_ELEMENTS.has(name)) this.#place = { textOf: name };
    const links = LINK_ATTRIBUTES.get(name);
    return links === undefined ? tag : this.#withLinks(tag, links, name.length + 1);
  }

  #withLinks(tag: string, links: readonly string[], attributesAt: number): string {
    const attributes = tag.slice(attributesAt).replace(ATTRIBUTE, (all, name: string, equals?: string, value = '') => {
      if (equals === undefined || !links.includes(name.toLowerCase())) return all;
      const quote = /^["']/.exec(value)?.[0] ?? '';
      const link = quote === '' ? value : value.slice(1, -1);
      return `${name}${equals}${quote}${this.#rewrite(link)}${quote}`;
    });
    return `${tag.slice(0, attributesAt)}${attributes}`;
  }

  /** Passes on text that is not read, up to and with a mark, which may be cut by the border of two pieces. */
  #upTo(mark: string, { piece, lower }: Lowered, from: number): { readonly text: string; readonly next: number } {
    const before = this.end();
    const border = before === '' ? '' : `${before.toLowerCase()}${lower.slice(from, from + mark.length - 1)}`;
    const cut = border.indexOf(mark);
    const found = cut < 0 ? lower.indexOf(mark, from) : cut + from - before.length;
    if (cut < 0 && found < 0) {
      const text = `${before}${piece.slice(from)}`;
      this.#kept = text.slice(Math.max(0, text.length - mark.length + 1));
      return { text: text.slice(0, text.length - this.#kept.length), next: piece.length };
    }
    this.#place = 'text';
    const next = found + mark.length;
    return { text: `${before}${piece.slice(from, next)}`, next };
  }
}

/** A piece, and the same in small letters. Of Latin letters no small one is longer. */
interface Lowered {
  readonly piece: string;
  readonly lower: string;
}

/** A name and, where there is one, its value. The value is optional so that every name is read once. */
const ATTRIBUTE = /([^\s"'<>/=]+)(?:(\s*=\s*)("[^"]*"|'[^']*'|[^\s"'>]+))?/g;
