import { copyJson, deepEqual } from './deep.ts';
import { tooManyEntries } from './document-size.ts';
import {
  isJsonArray,
  isJsonObject,
  type Json,
  jsonTypeName,
  type MutableJsonObject,
  ownValue,
  setOwn,
} from './json.ts';
import {
  MAX_ENTRIES,
  MAX_JSON_DEPTH,
  MAX_JSON_PATCH_COPY_BYTES,
  MAX_JSON_PATCH_OPERATIONS,
  MAX_JSON_POINTER_CHARS,
  MAX_STRICT_ERRORS,
} from './limits.ts';
import { badRequest, requestEntityTooLarge, unprocessablePatch } from './status.ts';
import { runSteps, type Steps } from './steps.ts';

export interface JsonPatchOperation {
  readonly op: string;
  readonly path: string;
  readonly from?: string;
  /** Absent means null. */
  readonly value?: Json;
}

/** An operation cannot be applied. Clients see only the 422 that wraps this error. */
class JsonPatchError extends Error {
  override readonly name = 'JsonPatchError';
}

export interface DecodedJsonPatch {
  readonly operations: readonly JsonPatchOperation[];
  /** For field validation: `json patch unknown field "[0].foo"`. */
  readonly strictErrors: readonly string[];
}

const OPERATION_FIELDS: ReadonlySet<string> = new Set(['op', 'path', 'from', 'value']);

/** Throws StatusError 400 or 413. */
export function decodeJsonPatch(body: Json, fields: 'checked' | 'ignored' = 'checked'): DecodedJsonPatch {
  if (body === null) return { operations: [], strictErrors: [] };
  if (fields === 'ignored') refuseUnreadable(body);
  if (!isJsonArray(body)) {
    throw decodingError(`cannot unmarshal ${jsonTypeName(body)} into Go value of type []handlers.jsonPatchOp`);
  }
  if (body.length > MAX_JSON_PATCH_OPERATIONS) {
    throw requestEntityTooLarge(
      `The allowed maximum operations in a JSON patch is ${MAX_JSON_PATCH_OPERATIONS}, got ${body.length}`,
    );
  }
  const strictErrors = body.flatMap((operation, index) =>
    isJsonObject(operation)
      ? Object.keys(operation)
          .filter((key) => !OPERATION_FIELDS.has(key))
          .map((key) => `json patch unknown field "[${index}].${key}"`)
      : [],
  );
  const decode = fields === 'checked' ? decodeOperation : readOperation;
  return { operations: body.map(decode), strictErrors: strictErrors.slice(0, MAX_STRICT_ERRORS) };
}

/** Without field validation, Kubernetes' patch library is the first to read the body, so errors have its words. */
function refuseUnreadable(body: Json): void {
  const refuse = (value: Json, type: string): Error =>
    badRequest(`json: cannot unmarshal ${jsonTypeName(value)} into Go value of type jsonpatch.${type}`);
  if (!isJsonArray(body)) throw refuse(body, 'Patch');
  for (const each of body) if (each !== null && !isJsonObject(each)) throw refuse(each, 'Operation');
}

/** A field that is not a string becomes empty. Such an operation cannot be applied. */
function readOperation(operation: Json): JsonPatchOperation {
  const fields = isJsonObject(operation) ? operation : {};
  const text = (field: string): string => {
    const value = ownValue(fields, field);
    return typeof value === 'string' ? value : '';
  };
  return { op: text('op'), path: text('path'), from: text('from'), value: ownValue(fields, 'value') ?? null };
}

const decodingError = (why: string): Error => badRequest(`error decoding patch: json: ${why}`);

function decodeOperation(operation: Json): JsonPatchOperation {
  if (operation === null) return readOperation(operation);
  if (!isJsonObject(operation)) {
    throw decodingError(`cannot unmarshal ${jsonTypeName(operation)} into Go value of type handlers.jsonPatchOp`);
  }
  const text = (field: string): string => {
    const value = ownValue(operation, field) ?? '';
    if (typeof value === 'string') return value;
    throw decodingError(
      `cannot unmarshal ${jsonTypeName(value)} into Go struct field jsonPatchOp.${field} of type string`,
    );
  };
  return { op: text('op'), path: text('path'), from: text('from'), value: ownValue(operation, 'value') ?? null };
}

/** Applies RFC 6902 to a copy of `doc`. Throws StatusError 422 when any operation cannot be applied. */
export const applyJsonPatch = (doc: Json, operations: readonly JsonPatchOperation[]): Json =>
  runSteps(jsonPatchInSteps(doc, operations));

const OPERATIONS_PER_STEP = 16;

/** The same in steps; other work can run between them. */
export function* jsonPatchInSteps(doc: Json, operations: readonly JsonPatchOperation[]): Steps<Json> {
  if (operations.length > MAX_JSON_PATCH_OPERATIONS) {
    throw requestEntityTooLarge(
      `The allowed maximum operations in a JSON patch is ${MAX_JSON_PATCH_OPERATIONS}, got ${operations.length}`,
    );
  }
  yield;
  const document = new PatchedDocument(copyJson(doc));
  try {
    for (const [index, operation] of operations.entries()) {
      document.apply(operation);
      if (index % OPERATIONS_PER_STEP === OPERATIONS_PER_STEP - 1) yield;
    }
  } catch (error) {
    if (error instanceof JsonPatchError) throw unprocessablePatch(error);
    throw error;
  }
  return document.root;
}

type Container = Json[] | MutableJsonObject;

class PatchedDocument {
  root: Json;
  #copiedBytes = 0;

  constructor(root: Json) {
    this.root = root;
  }

  apply({ op, path, from = '', value = null }: JsonPatchOperation): void {
    switch (op) {
      case 'add':
        return this.#add(path, copyJson(value));
      case 'remove':
        this.#remove(path);
        return;
      case 'replace':
        this.#get(path);
        return this.#set(path, copyJson(value));
      case 'move':
        return this.#move(from, path);
      case 'copy':
        return this.#copy(from, path);
      case 'test':
        return this.#test(path, value);
      default:
        throw new JsonPatchError(`unexpected kind: ${op}`);
    }
  }

  #move(from: string, path: string): void {
    if (path.startsWith(`${from}/`)) throw new JsonPatchError(`cannot move ${from} into itself`);
    this.#add(path, this.#remove(from));
  }

  #copy(from: string, path: string): void {
    const value = this.#get(from);
    this.#copiedBytes += Buffer.byteLength(JSON.stringify(value));
    if (this.#copiedBytes > MAX_JSON_PATCH_COPY_BYTES) {
      throw new JsonPatchError(
        `the accumulated size increase of copy is ${this.#copiedBytes}, exceeding the limit ${MAX_JSON_PATCH_COPY_BYTES}`,
      );
    }
    this.#add(path, copyJson(value));
  }

  /** An absent member equals null. */
  #test(path: string, expected: Json): void {
    const actual = this.#find(path) ?? null;
    if (!deepEqual(actual, expected)) throw new JsonPatchError(`testing value ${path} failed`);
  }

  #add(path: string, value: Json): void {
    // Refuses to add at the root: an empty path counts as a missing one.
    if (path === '') throw new JsonPatchError('missing path');
    const { container, token } = this.#parent(path);
    if (!isList(container)) return setOwn(container, token, value);
    if (container.length >= MAX_ENTRIES) throw tooManyEntries();
    container.splice(token === '-' ? container.length : insertionIndex(token, container.length), 0, value);
  }

  #set(path: string, value: Json): void {
    if (path === '') {
      this.root = value;
      return;
    }
    const { container, token } = this.#parent(path);
    if (isList(container)) container[elementIndex(token, container.length)] = value;
    else setOwn(container, token, value);
  }

  #remove(path: string): Json {
    const removed = this.#get(path);
    if (path === '') throw new JsonPatchError('cannot remove the document');
    const { container, token } = this.#parent(path);
    if (isList(container)) container.splice(elementIndex(token, container.length), 1);
    else delete container[token];
    return removed;
  }

  #get(path: string): Json {
    const value = this.#find(path);
    if (value === undefined) throw new JsonPatchError(`missing path: ${path}`);
    return value;
  }

  #find(path: string): Json | undefined {
    if (path === '') return this.root;
    const { container, token } = this.#parent(path);
    return isList(container) ? container[elementIndex(token, container.length)] : ownValue(container, token);
  }

  #parent(path: string): { container: Container; token: string } {
    const tokens = parsePointer(path);
    const token = tokens.pop() ?? '';
    let container: Json | undefined = this.root;
    for (const step of tokens) {
      if (isJsonArray(container)) container = container[elementIndex(step, container.length)];
      else if (isJsonObject(container)) container = ownValue(container, step);
      else break;
    }
    if (!isContainer(container)) throw new JsonPatchError(`missing path: ${path}`);
    return { container, token };
  }
}

/** The document is our own copy, so this code may modify its branches. */
function isContainer(value: Json | undefined): value is Container {
  return typeof value === 'object' && value !== null;
}

function isList(container: Container): container is Json[] {
  return Array.isArray(container);
}

function parsePointer(path: string): string[] {
  if (path.length > MAX_JSON_POINTER_CHARS) {
    throw new JsonPatchError(`path has more than ${MAX_JSON_POINTER_CHARS} characters`);
  }
  if (!path.startsWith('/')) throw new JsonPatchError(`path does not start with a slash: ${path}`);
  // A path beyond the maximum depth cannot match: no document is that deep.
  const tokens = path.slice(1).split('/', MAX_JSON_DEPTH + 1);
  return path.includes('~') ? tokens.map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~')) : tokens;
}

/** Kubernetes also accepts negative indices, which count from the end. */
function elementIndex(token: string, length: number): number {
  const index = parseIndex(token, length);
  if (index < 0 || index >= length) throw new JsonPatchError(`invalid index referenced: ${token}`);
  return index;
}

function insertionIndex(token: string, length: number): number {
  const index = parseIndex(token, length + 1);
  if (index < 0 || index > length) throw new JsonPatchError(`invalid index referenced: ${token}`);
  return index;
}

function parseIndex(token: string, length: number): number {
  if (!/^-?\d{1,9}$/.test(token)) throw new JsonPatchError(`invalid index: ${token}`);
  const index = Number(token);
  return index < 0 || Object.is(index, -0) ? length + index : index;
}
