import { deepEqual } from '../deep.ts';
import { fieldElement, type PathElement } from '../fieldpath/element.ts';
import {
  type FieldNode,
  type FieldSet,
  FieldSetBuilder,
  isEmptySet,
  LEAF_NODE,
  recursiveDifferenceOf,
} from '../fieldpath/field-set.ts';
import { isEmptyObject, type Json, type JsonObject } from '../json.ts';
import type { ListSchema, Schema } from '../schema.ts';
import {
  fieldSchema,
  itemsByElement,
  listOf,
  listSchema,
  type Maybe,
  objectOf,
  type Treatment,
  treatmentOf,
} from './shape.ts';

/** The effect of a change on the fields of an object. */
export interface Comparison {
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

export function compareTyped(before: JsonObject, after: JsonObject, schema: Schema): Comparison {
  const comparer = new Comparer();
  comparer.compare(before, after, schema);
  return { added: comparer.added.set, modified: comparer.modified.set, removed: comparer.removed.set };
}

export const isSame = ({ added, modified, removed }: Comparison): boolean =>
  isEmptySet(added) && isEmptySet(modified) && isEmptySet(removed);

/** Removes the given fields and everything below them. */
export function excludeFields(comparison: Comparison, fields: FieldSet | undefined): Comparison {
  if (fields === undefined) return comparison;
  return {
    added: recursiveDifferenceOf(comparison.added, fields),
    modified: recursiveDifferenceOf(comparison.modified, fields),
    removed: recursiveDifferenceOf(comparison.removed, fields),
  };
}

class Comparer {
  readonly added = new FieldSetBuilder();
  readonly modified = new FieldSetBuilder();
  readonly removed = new FieldSetBuilder();
  readonly #path: PathElement[] = [];

  compare(before: Maybe, after: Maybe, schema: Schema): void {
    if (before === after) return;
    if (before === undefined) return this.#insertAll(this.added, after, schema);
    if (after === undefined) return this.#insertAll(this.removed, before, schema);
    const left = treatmentOf(schema, before);
    const right = schema.kind === 'any' ? treatmentOf(schema, after) : left;
    if (left !== right) this.#compareAs(left, schema, before, after);
    this.#compareAs(right, schema, before, after);
  }

  #insertAll(fields: FieldSetBuilder, value: Maybe, schema: Schema): void {
    if (value !== undefined) fields.insertTree(this.#path, presentFields(value, schema));
  }

  #compareAs(treatment: Treatment, schema: Schema, before: Json, after: Json): void {
    switch (treatment) {
      case 'leaf':
        return this.#leaf(before, after);
      case 'fields':
        return this.#fields(schema, before, after);
      case 'items':
        return this.#items(listSchema(schema), before, after);
    }
  }

  #leaf(before: Json, after: Json): void {
    if (!deepEqual(before, after)) this.modified.insert(this.#path);
  }

  #fields(schema: Schema, before: Json, after: Json): void {
    const left = objectOf(before);
    const right = objectOf(after);
    // Empty against nil is a leaf, so that the difference between the two is kept.
    if ((left === undefined || isEmptyObject(left)) && (right === undefined || isEmptyObject(right))) {
      return this.#leaf(before, after);
    }
    for (const key in left) {
      const after = own(right, key);
      if (left[key] !== after) this.#step(fieldElement(key), left[key], after, fieldSchema(schema, key));
    }
    for (const key in right) {
      if (left === undefined || !Object.hasOwn(left, key)) {
        this.#step(fieldElement(key), undefined, right[key], fieldSchema(schema, key));
      }
    }
  }

  #step(element: PathElement, before: Maybe, after: Maybe, schema: Schema): void {
    this.#path.push(element);
    this.compare(before, after, schema);
    this.#path.pop();
  }

  #items(list: ListSchema, before: Json, after: Json): void {
    const left = listOf(before) ?? [];
    const right = listOf(after) ?? [];
    if (left.length === 0 && right.length === 0) return this.#leaf(before, after);
    // Most lists are unchanged, and this comparison costs less than finding items by their keys.
    if (deepEqual(left, right)) return;
    const schema = list.items();
    const leftItems = itemsByElement(list, left);
    const rightItems = itemsByElement(list, right);
    for (const element of new Set([...leftItems.keys(), ...rightItems.keys()])) {
      this.#item(element, leftItems.get(element) ?? [], rightItems.get(element) ?? [], schema);
    }
  }

  /** Items with the same identity are compared, owned and removed together. */
  #item(element: PathElement, before: readonly Json[], after: readonly Json[], schema: Schema): void {
    if (before.length <= 1 && after.length <= 1) return this.#step(element, before[0], after[0], schema);
    if (before.length > 1 && after.length > 1) {
      if (!deepEqual(before, after)) this.modified.insert([...this.#path, element]);
    } else if (before.length > 1) {
      if (after.length > 0) this.#step(element, undefined, after[0], schema);
      this.removed.insert([...this.#path, element]);
    } else {
      if (before.length > 0) this.#step(element, before[0], undefined, schema);
      this.added.insert([...this.#path, element]);
    }
  }
}

/** Returns all fields of a value that was added or removed as a whole: its leaves and its containers. */
function presentFields(value: Json, schema: Schema): FieldNode {
  switch (treatmentOf(schema, value)) {
    case 'leaf':
      return LEAF_NODE;
    case 'fields':
      return presentKeys(objectOf(value), schema);
    case 'items':
      return presentItems(listOf(value), listSchema(schema));
  }
}

function presentKeys(value: JsonObject | undefined, schema: Schema): FieldNode {
  if (value === undefined || isEmptyObject(value)) return LEAF_NODE;
  const children = new Map<PathElement, FieldNode>();
  for (const key in value) children.set(fieldElement(key), presentFields(value[key] ?? null, fieldSchema(schema, key)));
  return { member: true, children };
}

function presentItems(value: readonly Json[] | undefined, list: ListSchema): FieldNode {
  if (value === undefined || value.length === 0) return LEAF_NODE;
  const schema = list.items();
  const children = new Map<PathElement, FieldNode>();
  for (const [element, items] of itemsByElement(list, value)) {
    const [only, ...duplicates] = items;
    const whole = only === undefined || duplicates.length > 0;
    children.set(element, whole ? LEAF_NODE : presentFields(only, schema));
  }
  return { member: true, children };
}

function own(object: JsonObject | undefined, key: string): Maybe {
  return object !== undefined && Object.hasOwn(object, key) ? object[key] : undefined;
}
