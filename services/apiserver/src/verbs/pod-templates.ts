import type { KubeObject, ResourceDefinition } from '@holdfast/api';
import { copyJson, deepFreeze, type JsonObject } from '@holdfast/machinery';

/**
 * Cached facts about the spec of pods from one template. They depend only on the text, and pods of one template arrive
 * by the hundreds, so they are computed once.
 */
export interface PodTemplate {
  /** Decoded and frozen. */
  readonly spec: JsonObject;
  /** The creator's fields including defaults, as FieldsV1 text. */
  fields: string | undefined;
  /** The last stored spec that passed all checks. */
  valid: unknown;
  /** And there was nothing to warn of. */
  isQuiet: boolean;
}

/** Number of cached templates (oldest evicted first), and the maximum body. */
const TEMPLATES_MAX = 128;
const BODY_CHARS_MAX = 16_384;

/** `undefined`: the text came once. Only what comes again is worth keeping. */
const byText = new Map<string, PodTemplate | undefined>();

/** The text of a body with a mark in the place of the spec. */
export interface SplitBody {
  readonly rest: string;
  readonly spec: string;
}

const MARK = '@spec';
const ESCAPE = '\\u';

export const isPod = ({ group, plural }: ResourceDefinition): boolean => group === '' && plural === 'pods';

/** `undefined` when the text has no spec where one is expected. Says nothing about whether it is JSON. */
export function splitBody(text: string): SplitBody | undefined {
  if (text.length > BODY_CHARS_MAX || text.includes(MARK)) return undefined;
  const start = startOfSpec(text);
  const end = start === undefined ? undefined : endOfObject(text, start);
  if (start === undefined || end === undefined) return undefined;
  const rest = `${text.slice(0, start)}"${MARK}"${text.slice(end)}`;
  // A mark that the client wrote in other characters would be taken for ours.
  return rest.includes(ESCAPE) ? undefined : { rest, spec: text.slice(start, end) };
}

/** True when the mark is at the object's spec, not deeper. */
export const isMarked = (document: JsonObject): boolean => document['spec'] === MARK;

const KEY = '"spec":';
const QUOTE = 34;
const BACKSLASH = 92;
const OPENING = 123;
const CLOSING = 125;
const SPACE = 32;

function startOfSpec(text: string): number | undefined {
  const key = text.indexOf(KEY);
  if (key < 0) return undefined;
  let at = key + KEY.length;
  while (text.charCodeAt(at) === SPACE) at += 1;
  return text.charCodeAt(at) === OPENING ? at : undefined;
}

/** After the brace that closes the one at `start`. */
function endOfObject(text: string, start: number): number | undefined {
  let depth = 0;
  for (let i = start; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) i = endOfString(text, i + 1);
    else if (code === OPENING) depth += 1;
    else if (code === CLOSING) {
      depth -= 1;
      if (depth === 0) return i + 1;
    }
  }
  return undefined;
}

function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start);
  while (end > 0 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end < 0 ? text.length : end;
}

function isEscaped(text: string, quote: number): boolean {
  let backslashes = 0;
  while (text.charCodeAt(quote - 1 - backslashes) === BACKSLASH) backslashes += 1;
  return backslashes % 2 === 1;
}

export const knownTemplate = (specText: string): PodTemplate | undefined => byText.get(specText);

/** For a valid body, with its decoded form before additions. It is cached the second time. */
export function rememberTemplate({ rest, spec }: SplitBody, pod: KubeObject): void {
  const cameBefore = byText.has(spec);
  if (cameBefore && !isMarked(JSON.parse(rest) as JsonObject)) return;
  if (!cameBefore && byText.size >= TEMPLATES_MAX) {
    const [oldest = ''] = byText.keys();
    byText.delete(oldest);
  }
  byText.set(
    spec,
    cameBefore ? { spec: frozenSpec(pod), fields: undefined, valid: undefined, isQuiet: false } : undefined,
  );
}

const frozenSpec = (pod: KubeObject): JsonObject => deepFreeze(copyJson(sentSpecOf(pod)));

/** The spec of a decoded pod is JSON. */
const sentSpecOf = (pod: KubeObject): JsonObject => ('spec' in pod ? (pod.spec as JsonObject) : {});
