import type { Json, MutableJsonObject, ParsedJson } from '@holdfast/machinery';
import { exactInteger, setOwn } from '@holdfast/machinery/exact-json';
import {
  type Alias,
  type Document,
  isAlias,
  isCollection,
  isNode,
  isPair,
  isScalar,
  Lexer,
  type Pair,
  parseDocument,
  type ScalarTag,
  type Tags,
  type YAMLError,
} from 'yaml';
import { YAML_ALIASES_MAX, YAML_INTEGER_CHARS_MAX, YAML_NODES_MAX, YAML_TOKENS_MAX } from '../limits.ts';
import { YamlSyntaxError, YamlTooLargeError } from './yaml-errors.ts';

/**
 * Reads a YAML text at a cost that grows with its length and no faster. The parser alone does not promise that: it compares every key with every
 * other, words every mistake with the whole text before it, and prints what it does not know. Loads little, because a thread reads with it.
 */
export function readYaml(text: string): ParsedJson {
  try {
    return parseBounded(text);
  } catch (error) {
    if (error instanceof YamlTooLargeError) throw error;
    throw new YamlSyntaxError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

function parseBounded(text: string): ParsedJson {
  refuseTooManyTokens(text);
  const document = parseDocument(text, {
    version: '1.1',
    customTags: (tags) => tags.filter((tag) => typeof tag === 'string' || !isTextInGo(tag)).map(withBoundedIntegers),
    merge: true,
    intAsBigInt: true,
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: 'silent',
  });
  const [mistake] = document.errors;
  if (mistake !== undefined) throw new Error(describeMistake(text, mistake));
  const repeated = inspect(document);
  const value = withExactIntegers((document.toJS({ maxAliasCount: -1 }) ?? null) as Json);
  return { value, duplicates: repeated.length === 0 ? [] : [describeRepeated(text, repeated)] };
}

/** Go writes the numbers as JSON and reads that: whole numbers are integers then, however they were written. */
function withExactIntegers(value: Json): Json {
  if (typeof value === 'bigint') return exactInteger(value);
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new Error(`json: unsupported value: ${goText(value)}`);
  if (typeof value === 'number') return Number.isInteger(value) ? exactInteger(BigInt(wholeText(value))) : value;
  if (Array.isArray(value)) for (const [i, item] of value.entries()) value[i] = withExactIntegers(item);
  else if (isPlainObject(value)) {
    for (const key of Object.keys(value)) setOwn(value, key, withExactIntegers(value[key] ?? null));
  }
  return value;
}

const goText = (value: number): string => (Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf');

/** From 1e21 on, JSON has an exponent. */
const wholeText = (value: number): string | number => (Math.abs(value) < 1e21 ? String(value) : value);

/** YAML also has sets, maps and bytes. */
const isPlainObject = (value: Json): value is MutableJsonObject =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/** Times, and numbers to the base of 60: `22:22`. */
const isTextInGo = ({ tag, format }: Exclude<Tags[number], string>): boolean =>
  tag === 'tag:yaml.org,2002:timestamp' || format === 'TIME';

/** Digits become an integer at a cost that grows faster than their number. */
function withBoundedIntegers(tag: Tags[number]): Tags[number] {
  if (!isIntegerTag(tag)) return tag;
  const resolve: ScalarTag['resolve'] = (text, onError, options) => {
    if (text.length > YAML_INTEGER_CHARS_MAX)
      throw new Error(`an integer has ${text.length} characters, the limit is ${YAML_INTEGER_CHARS_MAX}`);
    return tag.resolve(text, onError, options);
  };
  return { ...tag, resolve };
}

const isIntegerTag = (tag: Tags[number]): tag is ScalarTag =>
  typeof tag !== 'string' && tag.tag === 'tag:yaml.org,2002:int';

/** Go's messages, which omit the line for errors on the first. */
const IN_GO: ReadonlyMap<string, string> = new Map(
  Object.entries({
    BLOCK_AS_IMPLICIT_KEY: 'mapping values are not allowed in this context',
    TAB_AS_INDENT: 'found character that cannot start any token',
    // The stack ends before that.
    RESOURCE_EXHAUSTION: 'exceeded max depth of 10000',
  }),
);

function describeMistake(text: string, { code, pos, message }: YAMLError): string {
  const line = lineOf(text, pos[0]);
  const words = IN_GO.get(code);
  if (words === undefined) return `yaml: line ${line}: ${message}`;
  return line === 1 ? `yaml: ${words}` : `yaml: line ${line}: ${words}`;
}

function refuseTooManyTokens(text: string): void {
  let tokens = 0;
  for (const _ of new Lexer().lex(text)) {
    tokens += 1;
    if (tokens > YAML_TOKENS_MAX) throw new YamlTooLargeError(`limit is ${YAML_TOKENS_MAX} tokens of YAML`);
  }
}

const lineOf = (text: string, position: number): number => text.slice(0, position).split('\n').length;

interface RepeatedKey {
  /** As printed. */
  readonly key: string;
  readonly position: number;
}

/** Finds keys that stand twice in a map; refuses documents that grow too large, or without end, when their aliases are replaced. */
function inspect(document: Document): readonly RepeatedKey[] {
  const repeated: RepeatedKey[] = [];
  const sizes = new Map<string, number | 'unfinished'>();
  let aliases = 0;
  const sizeOfAlias = ({ source }: Alias): number => {
    aliases += 1;
    if (aliases > YAML_ALIASES_MAX) throw new Error('yaml: document contains excessive aliasing');
    const size = sizes.get(source);
    if (size === 'unfinished') throw new Error(`yaml: anchor '${source}' value contains itself`);
    if (size === undefined) throw new Error(`yaml: unknown anchor '${source}' referenced`);
    return size;
  };
  const sizeOf = (node: unknown): number => {
    if (isAlias(node)) return sizeOfAlias(node);
    if (isPair(node)) return sizeOf(node.key) + sizeOf(node.value);
    if (!isNode(node)) return 1;
    // From here to its end the anchor means this node, which cannot contain itself.
    if (node.anchor !== undefined) sizes.set(node.anchor, 'unfinished');
    let size = 1;
    const keys = new RepeatedKeys(repeated);
    if (isCollection(node)) {
      for (const item of node.items) {
        size += sizeOf(item);
        if (isPair(item)) keys.add(item);
      }
    }
    if (size > YAML_NODES_MAX) throw new Error('yaml: document contains excessive aliasing');
    if (node.anchor !== undefined) sizes.set(node.anchor, size);
    return size;
  };
  sizeOf(document.contents);
  return repeated;
}

/**
 * The duplicate keys of one map. As in Go, a key is reported after errors inside its value, and with the line of the
 * value.
 */
class RepeatedKeys {
  readonly #seen = new Set<unknown>();
  readonly #told: RepeatedKey[];

  constructor(told: RepeatedKey[]) {
    this.#told = told;
  }

  add({ key, value }: Pair): void {
    if (!isScalar(key) || key.value === MERGE_KEY) return;
    const [position = 0] = (isNode(value) ? value.range : undefined) ?? key.range ?? [];
    if (this.#seen.has(key.value)) this.#told.push({ key: shownKey(key.value), position });
    this.#seen.add(key.value);
  }
}

const shownKey = (key: unknown): string => (typeof key === 'string' ? JSON.stringify(key) : String(key));

const MERGE_KEY = '<<';
/** Maximum number of reported keys. */
const REPEATED_KEYS_TOLD = 10;

function describeRepeated(text: string, repeated: readonly RepeatedKey[]): string {
  const lines = repeated
    .slice(0, REPEATED_KEYS_TOLD)
    .map(({ key, position }) => `  line ${lineOf(text, position)}: key ${key} already set in map`);
  return ['yaml: unmarshal errors:', ...lines].join('\n');
}
