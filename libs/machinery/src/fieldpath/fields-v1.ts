import { isJsonObject, type Json, type JsonObject, type MutableJsonObject } from '../json.ts';
import { normalizeElement, type PathElement } from './element.ts';
import { EMPTY_FIELD_SET, type FieldNode, type FieldSet, LEAF_NODE, sortedElements } from './field-set.ts';

const SELF = '.';

export class FieldsV1Error extends Error {
  override readonly name = 'FieldsV1Error';
}

/** Uses the canonical order: `.`, fields, keys, values, positions. */
export function encodeFieldsV1(set: FieldSet): JsonObject {
  return encodeLevel(set, {});
}

function encodeLevel(set: FieldSet, level: MutableJsonObject): JsonObject {
  for (const element of sortedElements(set)) {
    const node = set.get(element);
    if (node === undefined) continue;
    level[element] =
      node.children.size === 0
        ? NOTHING_BELOW
        : encodeLevel(node.children, node.member ? { [SELF]: NOTHING_BELOW } : {});
  }
  return level;
}

const NOTHING_BELOW: JsonObject = Object.freeze({});

/** Omits elements of an unknown kind. Throws FieldsV1Error. */
export function decodeFieldsV1(value: Json): FieldSet {
  if (!isJsonObject(value)) throw new FieldsV1Error('fieldsV1 must be an object');
  return decodeLevel(value);
}

function decodeLevel(level: JsonObject): FieldSet {
  let set: Map<PathElement, FieldNode> | undefined;
  for (const text in level) {
    if (text === SELF) continue;
    const element = text.startsWith('f:') ? text : elementOf(text);
    if (element === undefined) continue;
    const below = level[text] ?? null;
    if (!isJsonObject(below)) throw new FieldsV1Error(`fieldsV1: ${text} must be an object`);
    const children = decodeLevel(below);
    set ??= new Map();
    set.set(element, children.size === 0 ? LEAF_NODE : { member: Object.hasOwn(below, SELF), children });
  }
  return set ?? EMPTY_FIELD_SET;
}

function elementOf(text: string): PathElement | undefined {
  try {
    return normalizeElement(text);
  } catch (error) {
    throw new FieldsV1Error(`fieldsV1: ${text} cannot be read`, { cause: error });
  }
}
