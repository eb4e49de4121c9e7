import { type FieldPath, type PathElement, SortableElement } from './element.ts';

/**
 * A set of field paths as a tree. Invariant: every node is a member or has a member below it, so a set is empty exactly
 * when its map is. Sets are immutable: no operation changes its arguments, and unchanged branches are shared.
 */
export type FieldSet = ReadonlyMap<PathElement, FieldNode>;

export interface FieldNode {
  /** True when the path up to here is in the set. */
  readonly member: boolean;
  readonly children: FieldSet;
}

export const EMPTY_FIELD_SET: FieldSet = new Map();

/** A member with nothing below it. */
export const LEAF_NODE: FieldNode = Object.freeze({ member: true, children: EMPTY_FIELD_SET });

export const isEmptySet = (set: FieldSet): boolean => set.size === 0;

interface MutableNode {
  member: boolean;
  children: Map<PathElement, FieldNode | MutableNode>;
}

/** Collects paths. Do not use the set before the last insertion. */
export class FieldSetBuilder {
  /** Created with the first path: most comparisons find no difference. */
  #root: Map<PathElement, FieldNode | MutableNode> | undefined;
  /** Nodes that this builder created and may therefore modify. */
  #own: Set<object> | undefined;

  /** The empty path (the whole object) is never in a set. */
  insert(path: FieldPath): void {
    this.insertTree(path, LEAF_NODE);
  }

  /** Inserts a whole subtree at a path. */
  insertTree(path: FieldPath, tree: FieldNode): void {
    const last = path.at(-1);
    if (last === undefined) return;
    this.#root ??= new Map();
    let level = this.#root;
    for (let i = 0; i < path.length - 1; i += 1) level = this.#step(level, path[i] ?? '').children;
    const found = level.get(last);
    level.set(last, found === undefined ? tree : unionOfNodes(found, tree));
  }

  /** Inserts all paths of a set. */
  insertSet(set: FieldSet): void {
    if (set.size === 0) return;
    this.#root ??= new Map();
    this.#insertAll(this.#root, set);
  }

  #insertAll(level: Map<PathElement, FieldNode | MutableNode>, set: FieldSet): void {
    for (const [element, node] of set) {
      const found = level.get(element);
      if (found === undefined) level.set(element, node);
      else if (found !== node) {
        const own = this.#step(level, element);
        own.member ||= node.member;
        this.#insertAll(own.children, node.children);
      }
    }
  }

  #step(level: Map<PathElement, FieldNode | MutableNode>, element: PathElement): MutableNode {
    const found = level.get(element);
    if (found !== undefined && this.#isOwn(found)) return found;
    const node: MutableNode =
      found === undefined
        ? { member: false, children: new Map() }
        : { member: found.member, children: new Map(found.children) };
    this.#own ??= new Set();
    this.#own.add(node);
    level.set(element, node);
    return node;
  }

  #isOwn(node: FieldNode | MutableNode): node is MutableNode {
    return this.#own?.has(node) === true;
  }

  get set(): FieldSet {
    return this.#root ?? EMPTY_FIELD_SET;
  }
}

export function fieldSetOf(...paths: readonly FieldPath[]): FieldSet {
  const builder = new FieldSetBuilder();
  for (const path of paths) builder.insert(path);
  return builder.set;
}

export function hasPath(set: FieldSet, path: FieldPath): boolean {
  let level = set;
  let member = false;
  for (const element of path) {
    const node = level.get(element);
    if (node === undefined) return false;
    member = node.member;
    level = node.children;
  }
  return member;
}

/** Returns the paths below an element as a set of their own. */
export const childrenOf = (set: FieldSet, element: PathElement): FieldSet =>
  set.get(element)?.children ?? EMPTY_FIELD_SET;

export const hasMember = (set: FieldSet, element: PathElement): boolean => set.get(element)?.member === true;

/**
 * Returns the union of all sets. The cost grows with the sum of their sizes; repeated `unionOf` would copy the result
 * for each set.
 */
export function unionOfAll(sets: Iterable<FieldSet>): FieldSet {
  const builder = new FieldSetBuilder();
  for (const set of sets) builder.insertSet(set);
  return builder.set;
}

/** Returns `a` itself when it contains all of `b`. */
export function unionOf(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b || b.size === 0) return a;
  if (a.size === 0) return b;
  let result: Map<PathElement, FieldNode> | undefined;
  for (const [element, node] of b) {
    const own = a.get(element);
    const joined = own === undefined ? node : unionOfNodes(own, node);
    if (joined === own) continue;
    result ??= new Map(a);
    result.set(element, joined);
  }
  return result ?? a;
}

function unionOfNodes(a: FieldNode, b: FieldNode): FieldNode {
  if (a === b) return a;
  const member = a.member || b.member;
  const children = unionOf(a.children, b.children);
  return member === a.member && children === a.children ? a : { member, children };
}

export function intersectionOf(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b) return a;
  const result = new Map<PathElement, FieldNode>();
  const [few, many] = a.size <= b.size ? [a, b] : [b, a];
  for (const [element, node] of few) {
    const other = many.get(element);
    if (other === undefined) continue;
    const member = node.member && other.member;
    const children = intersectionOf(node.children, other.children);
    if (member || children.size > 0) result.set(element, { member, children });
  }
  return result;
}

/** Returns the paths of `a` that are not in `b`; `a` itself when none is. */
export function differenceOf(a: FieldSet, b: FieldSet): FieldSet {
  return subtract(a, b, false);
}

/** Returns the paths of `a` that are neither in `b` nor below a path of `b`. */
export function recursiveDifferenceOf(a: FieldSet, b: FieldSet): FieldSet {
  return subtract(a, b, true);
}

function subtract(a: FieldSet, b: FieldSet, recursive: boolean): FieldSet {
  if (a.size === 0 || b.size === 0) return a;
  let result: Map<PathElement, FieldNode> | undefined;
  // Iterates the smaller of the two sets: a change of few fields may concern many owners.
  for (const element of (a.size < b.size ? a : b).keys()) {
    const node = a.get(element);
    const other = b.get(element);
    if (node === undefined || other === undefined) continue;
    const left = subtractNode(node, other, recursive);
    if (left === node) continue;
    result ??= new Map(a);
    if (left === undefined) result.delete(element);
    else result.set(element, left);
  }
  return result ?? a;
}

function subtractNode(node: FieldNode, other: FieldNode, recursive: boolean): FieldNode | undefined {
  if (recursive && other.member) return undefined;
  const member = node.member && !other.member;
  const children = subtract(node.children, other.children, recursive);
  if (!member && children.size === 0) return undefined;
  return member === node.member && children === node.children ? node : { member, children };
}

export function equalSets(a: FieldSet, b: FieldSet): boolean {
  if (a === b) return true;
  if (a.size !== b.size) return false;
  for (const [element, node] of a) {
    const other = b.get(element);
    if (other === undefined || other.member !== node.member || !equalSets(node.children, other.children)) return false;
  }
  return true;
}

export function sortedElements(set: ReadonlyMap<PathElement, unknown>): PathElement[] {
  const elements = [...set.keys()];
  if (elements.length < 2) return elements;
  // Fields alone, the common case, sort by their text.
  for (const element of elements) if (!element.startsWith('f:')) return sortedOnce(elements);
  return sortedTexts(elements);
}

const sortedOnce = (elements: readonly PathElement[]): PathElement[] =>
  elements
    .map((element) => new SortableElement(element))
    .sort((a, b) => a.compare(b))
    .map(({ element }) => element);

/** Up to this many elements, insertion sort needs no extra memory. */
const FEW = 24;

/** Sorts the texts in place. */
export function sortedTexts(texts: string[]): string[] {
  if (texts.length > FEW) return texts.sort();
  for (let i = 1; i < texts.length; i += 1) {
    const text = texts[i] ?? '';
    let at = i;
    for (; at > 0 && (texts[at - 1] ?? '') > text; at -= 1) texts[at] = texts[at - 1] ?? '';
    texts[at] = text;
  }
  return texts;
}

/** Yields every path: on each level first the members, then the paths below. */
export function* pathsOf(set: FieldSet, prefix: FieldPath = []): Generator<FieldPath> {
  const elements = sortedElements(set);
  for (const element of elements) if (hasMember(set, element)) yield [...prefix, element];
  for (const element of elements) yield* pathsOf(childrenOf(set, element), [...prefix, element]);
}
