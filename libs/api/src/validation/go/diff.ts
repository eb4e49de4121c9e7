import { isJsonArray, isJsonObject, type Json, ownValue, parseQuantity, semanticEqual } from '@holdfast/machinery';
import { POINTED_STRUCTS } from './pointed.ts';
import { GO_STRUCTS } from './structs.ts';

/**
 * Formats the difference between two states as Kubernetes does: the fields of the Go type line by line, unchanged ones
 * shortened and only near a changed one. It uses non-breaking spaces, as Kubernetes does.
 */
export function goDiff(type: string, before: unknown, after: unknown): string {
  const text = render(diffOf(type, asJson(before), asJson(after)), 0, ' ');
  return `${indentation(0, ' ')}${text}\n`;
}

type Sign = ' ' | '-' | '+';
type Value = Json | undefined;

interface Line {
  readonly sign: Sign;
  readonly key: string;
  /** Absent for omitted fields, as the remark says. */
  readonly value?: Text;
  readonly remark?: string;
}

type Text = string | { readonly head: string; readonly lines: readonly Line[] };

const asJson = (value: unknown): Value => value as Value;

const CONTEXT_FIELDS = 2;
const SHOWN_MEMBERS = 4;
const NO_BREAK = '\u00a0';

type Field = readonly [go: string, json: string, type: string];

/** Types without a table print their JSON names. */
function fieldsOf(type: string, values: readonly Value[]): readonly Field[] {
  const known = GO_STRUCTS[type] ?? POINTED_STRUCTS[type];
  if (known !== undefined) return known;
  const keys = [...new Set(values.flatMap((value) => (isJsonObject(value ?? null) ? Object.keys(value ?? {}) : [])))];
  return keys.map((key) => [key.charAt(0).toUpperCase() + key.slice(1), key, 'any']);
}

function memberOf(value: Value, [, json, type]: Field): Value {
  if (type.startsWith('inline:')) return value;
  if (value === undefined || !isJsonObject(value)) return undefined;
  return ownValue(value, json);
}

const typeOf = (type: string): string => type.replace(/^inline:/, '');

const isPlain = (type: string, value: Value): boolean =>
  ['string', 'bool', 'int', 'int32', 'int64', 'time'].includes(type) ||
  (type === 'any' && (typeof value !== 'object' || value === null));

/** Named Go types of strings and numbers print as their values. */
const isWord = (value: Value): boolean => ['string', 'number', 'boolean'].includes(typeof value);

/** Formats a value in one line and cuts its members. */
function shortText(type: string, value: Value): string {
  if (type.startsWith('*')) return value === undefined ? 'nil' : `&${shortText(type.slice(1), value)}`;
  if (isPlain(type, value) || isWord(value)) return plainText(type, value);
  if (value === undefined && !GO_STRUCTS[type] && !POINTED_STRUCTS[type]) return 'nil';
  if (type === 'amounts') return members(Object.entries(value ?? {}).map(([name, amount]) => amountText(name, amount)));
  if (type === 'map') return members(Object.entries(value ?? {}).map(([key, text]) => `${quote(key)}: ${quote(text)}`));
  if (type.startsWith('[]') || isJsonArray(value ?? null)) {
    const item = type.startsWith('[]') ? type.slice(2) : 'any';
    return members(
      (isJsonArray(value ?? null) ? (value as readonly Json[]) : []).map((each) => shortText(named(item, each), each)),
    );
  }
  const fields = fieldsOf(type, [value]).filter((field) => !isZero(typeOf(field[2]), memberOf(value, field)));
  return members(fields.map((field) => `${field[0]}: ${shortText(typeOf(field[2]), memberOf(value, field))}`));
}

const members = (texts: readonly string[]): string =>
  `{${texts.slice(0, SHOWN_MEMBERS).join(', ')}${texts.length > SHOWN_MEMBERS ? ', ...' : ''}}`;

/** Named string types of Go print as their values. */
const named = (type: string, value: Value): string =>
  typeof value === 'string' ? 'string' : typeof value === 'number' ? 'int' : type;

const quote = (value: unknown): string => JSON.stringify(value ?? '');

function plainText(type: string, value: Value): string {
  if (type === 'bool') return String(value === true);
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return type === 'string' || typeof value === 'string' ? quote(value) : '0';
}

function wholeAmount(amount: Value): string {
  const { nano, format } = parseQuantity(typeof amount === 'string' ? amount : '0');
  const isWhole = nano % 1_000_000_000n === 0n;
  const inside = isWhole ? `value: ${nano / 1_000_000_000n}` : `value: ${nano / 1_000_000n}, scale: -3`;
  return `{i: resource.int64Amount{${inside}}, Format: ${quote(format)}}`;
}

const amountText = (name: string, amount: Json): string =>
  `s${quote(name)}: {i: {...}, Format: ${quote(parseQuantity(typeof amount === 'string' ? amount : '0').format)}}`;

function isZero(type: string, value: Value): boolean {
  if (value === undefined) {
    return (GO_STRUCTS[type] ?? POINTED_STRUCTS[type] ?? []).every((field) => isZero(typeOf(field[2]), undefined));
  }
  if (type.startsWith('*') || type.startsWith('[]') || type === 'map' || type === 'amounts') return false;
  if (isJsonObject(value))
    return fieldsOf(type, [value]).every((field) => isZero(typeOf(field[2]), memberOf(value, field)));
  return value === '' || value === 0 || value === false;
}

/** Formats a value that only one state has: with type names and few cuts. */
function wholeText(type: string, value: Value, isMember = false): string {
  if (type === 'amount') return wholeAmount(value);
  if (type.startsWith('*')) return value === undefined ? 'nil' : `&${wholeText(type.slice(1), value)}`;
  if (isPlain(type, value) || isWord(value)) return plainText(type, value);
  if (value === undefined) return 'nil';
  if (isJsonArray(value)) {
    const item = type.startsWith('[]') ? type.slice(2) : 'any';
    const name = isMember ? '' : `[]${item}`;
    return `${name}{${value.map((each) => wholeText(named(item, each), each, true)).join(', ')}}`;
  }
  if (!isJsonObject(value)) return plainText('string', value);
  if (type === 'map') {
    return `map[string]string{${Object.entries(value)
      .map(([key, text]) => `${quote(key)}: ${quote(text)}`)
      .join(', ')}}`;
  }
  const fields = fieldsOf(type, [value]).filter((field) => !isZero(typeOf(field[2]), memberOf(value, field)));
  const texts = fields.map((field) => `${field[0]}: ${wholeText(typeOf(field[2]), memberOf(value, field))}`);
  return `${isMember ? '' : type}{${texts.join(', ')}}`;
}

function diffOf(type: string, before: Value, after: Value, isMember = false): Text {
  if (type.startsWith('*')) {
    const inner = diffOf(type.slice(1), before, after);
    return typeof inner === 'string' ? `&${inner}` : { ...inner, head: `&${inner.head}` };
  }
  const head = isMember ? '' : type === 'map' ? 'map[string]string' : type;
  if (type.startsWith('[]')) return { head, lines: listLines(type.slice(2), before, after) };
  if (type === 'map') return { head, lines: mapLines(before, after, { quoted: quote, type: 'string' }) };
  if (type === 'amounts') {
    const quoted = (key: string): string => `s${quote(key)}`;
    return { head: 'core.ResourceList', lines: mapLines(before, after, { quoted, type: 'amount' }) };
  }
  const parts = fieldsOf(type, [before, after]).map((field): Part => {
    const [x, y] = [memberOf(before, field), memberOf(after, field)];
    return { key: field[0], type: typeOf(field[2]), before: x, after: y, same: semanticEqual(x, y) };
  });
  return { head, lines: linesOf(parts, 'field') };
}

interface Part {
  readonly key: string;
  readonly type: string;
  readonly before: Value;
  readonly after: Value;
  readonly same: boolean;
  /** Only one of the two states has it. */
  readonly alone?: Sign;
  readonly isMember?: true;
}

function listLines(item: string, before: Value, after: Value): readonly Line[] {
  const [old, now] = [before, after].map((list) => (isJsonArray(list ?? null) ? (list as readonly Json[]) : []));
  const parts: Part[] = [];
  const shared = Math.min(old?.length ?? 0, now?.length ?? 0);
  for (let i = 0; i < Math.max(old?.length ?? 0, now?.length ?? 0); i++) {
    const [x, y] = [old?.[i], now?.[i]];
    const alone = i < shared ? {} : { alone: (x === undefined ? '+' : '-') as Sign };
    const type = named(item, x ?? y);
    parts.push({ key: '', type, before: x, after: y, same: semanticEqual(x, y), isMember: true, ...alone });
  }
  return linesOf(parts, 'element');
}

interface Entries {
  readonly quoted: (key: string) => string;
  readonly type: string;
}

function mapLines(before: Value, after: Value, { quoted, type }: Entries): readonly Line[] {
  const [old, now] = [before, after].map((map) =>
    isJsonObject(map ?? null) ? (map as Readonly<Record<string, Json>>) : {},
  );
  const keys = [...new Set([...Object.keys(old ?? {}), ...Object.keys(now ?? {})])].toSorted();
  const parts = keys.map((key): Part => {
    const [x, y] = [ownValue(old ?? {}, key), ownValue(now ?? {}, key)];
    const alone: { alone?: Sign } = x === undefined ? { alone: '+' } : y === undefined ? { alone: '-' } : {};
    return { key: quoted(key), type, before: x, after: y, same: semanticEqual(x, y), isMember: true, ...alone };
  });
  return linesOf(parts, 'entry');
}

function linesOf(parts: readonly Part[], name: 'field' | 'element' | 'entry'): readonly Line[] {
  const out: Line[] = [];
  for (let from = 0; from < parts.length; ) {
    let to = from;
    while (to < parts.length && parts[to]?.same === parts[from]?.same) to++;
    const run = parts.slice(from, to);
    if (run[0]?.same === true) out.push(...sameLines(run, name, { isFirst: from === 0, isLast: to === parts.length }));
    else out.push(...run.flatMap(changedLines));
    from = to;
  }
  return out;
}

function sameLines(
  run: readonly Part[],
  name: string,
  { isFirst, isLast }: { readonly isFirst: boolean; readonly isLast: boolean },
): readonly Line[] {
  const lead = isFirst ? 0 : Math.min(CONTEXT_FIELDS, run.length);
  let trail = isLast ? 0 : Math.min(CONTEXT_FIELDS, run.length - lead);
  // Omitting a single field saves nothing.
  if (run.length - lead - trail === 1) trail += 1;
  const hidden = run.length - lead - trail;
  const show = (part: Part): Line => ({ sign: ' ', key: part.key, value: shortText(part.type, part.before) });
  const remark = `${hidden} identical ${hidden === 1 ? name : name === 'entry' ? 'entries' : `${name}s`}`;
  return [
    ...run.slice(0, lead).map(show),
    ...(hidden > 0 ? [{ sign: ' ' as const, key: '', remark }] : []),
    ...run.slice(run.length - trail).map(show),
  ];
}

function changedLines(part: Part): readonly Line[] {
  const { key, type, before, after, alone, isMember = false } = part;
  const whole = (sign: Sign, value: Value): Line => ({ sign, key, value: wholeText(type, value, isMember) });
  if (alone !== undefined) return [whole(alone, alone === '-' ? before : after)];
  const isLeaf =
    type === 'amount' || isPlain(type, before ?? after) || isPlain(type.replace(/^\*/, ''), before ?? after);
  const isNil = (before === undefined || after === undefined) && /^(\*|\[\]|map$|amounts$)/.test(type);
  if (isLeaf || isNil) return [whole('-', before), whole('+', after)];
  return [{ sign: ' ', key, value: diffOf(type, before, after, isMember) }];
}

const indentation = (depth: number, sign: Sign): string =>
  `${sign === ' ' ? NO_BREAK : sign}${NO_BREAK}${'\t'.repeat(depth)}`;

function render(text: Text, depth: number, sign: Sign): string {
  if (typeof text === 'string') return text;
  const widths = keyWidths(text.lines);
  const lines = text.lines.map((line, i) => {
    const at = `\n${indentation(depth + 1, line.sign)}`;
    if (line.value === undefined) return `${at}... // ${line.remark ?? ''}`;
    const key = line.key === '' ? '' : `${line.key}: `.padEnd((widths[i] ?? 0) + 2);
    return `${at}${key}${render(line.value, depth + 1, line.sign)},`;
  });
  return `${text.head}{${lines.join('')}\n${indentation(depth, sign)}}`;
}

/** Aligns the values of adjacent lines. */
function keyWidths(lines: readonly Line[]): readonly number[] {
  const widths = lines.map(() => 0);
  for (let from = 0; from < lines.length; from++) {
    let to = from;
    while (to < lines.length && typeof lines[to]?.value === 'string') to++;
    const width = Math.max(0, ...lines.slice(from, to).map(({ key }) => key.length));
    widths.fill(width, from, to);
    from = to;
  }
  return widths;
}
