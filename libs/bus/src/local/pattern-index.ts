/**
 * Finds the entries whose pattern matches a subject by walking the tokens of the subject once. The cost depends on the
 * subject and on the matches, not on the number of other patterns (5,000 kubelets have one pattern each).
 */
export interface PatternIndex<T> {
  add(pattern: string, entry: T): void;
  remove(pattern: string, entry: T): void;
  /** Calls `visit` for every matching (pattern, entry) pair. */
  match(subject: string, visit: (entry: T) => void): void;
}

/** Most branches have one of the three, so each is made when it is needed. */
interface Branch<T> {
  children: Map<string, Branch<T>> | undefined;
  /** Entries whose pattern ends at this branch. */
  ends: Set<T> | undefined;
  /** Entries whose pattern continues with `>`. */
  tails: Set<T> | undefined;
}

export function createPatternIndex<T>(): PatternIndex<T> {
  const root = createBranch<T>();
  return {
    add(pattern, entry) {
      const { path, tail } = parse(pattern);
      let branch = root;
      for (const token of path) branch = childOf(branch, token);
      if (tail) (branch.tails ??= new Set()).add(entry);
      else (branch.ends ??= new Set()).add(entry);
    },
    remove(pattern, entry) {
      const { path, tail } = parse(pattern);
      prune(root, { path, tail, entry }, 0);
    },
    match(subject, visit) {
      walk(root, subject.split('.'), 0, visit);
    },
  };
}

function parse(pattern: string): { path: readonly string[]; tail: boolean } {
  const tokens = pattern.split('.');
  const tail = tokens.at(-1) === '>';
  return { path: tail ? tokens.slice(0, -1) : tokens, tail };
}

function createBranch<T>(): Branch<T> {
  return { children: undefined, ends: undefined, tails: undefined };
}

function childOf<T>(branch: Branch<T>, token: string): Branch<T> {
  const children = (branch.children ??= new Map<string, Branch<T>>());
  const known = children.get(token);
  if (known !== undefined) return known;
  const created = createBranch<T>();
  children.set(token, created);
  return created;
}

/**
 * Removes the entry at the end of `path` and the branches that become empty, so that deleted nodes leave nothing
 * behind.
 */
function prune<T>(branch: Branch<T>, leaving: Leaving<T>, depth: number): void {
  const token = leaving.path[depth];
  if (token === undefined) {
    (leaving.tail ? branch.tails : branch.ends)?.delete(leaving.entry);
    return;
  }
  const child = branch.children?.get(token);
  if (child === undefined) return;
  prune(child, leaving, depth + 1);
  if (isEmpty(child)) branch.children?.delete(token);
}

interface Leaving<T> {
  readonly path: readonly string[];
  readonly tail: boolean;
  readonly entry: T;
}

const isEmpty = ({ children, ends, tails }: Branch<unknown>): boolean =>
  (children?.size ?? 0) + (ends?.size ?? 0) + (tails?.size ?? 0) === 0;

function walk<T>(branch: Branch<T>, tokens: readonly string[], depth: number, visit: (entry: T) => void): void {
  const token = tokens[depth];
  if (token === undefined) {
    if (branch.ends !== undefined) for (const entry of branch.ends) visit(entry);
    return;
  }
  if (branch.tails !== undefined) for (const entry of branch.tails) visit(entry);
  const exact = branch.children?.get(token);
  if (exact !== undefined) walk(exact, tokens, depth + 1, visit);
  const any = branch.children?.get('*');
  if (any !== undefined) walk(any, tokens, depth + 1, visit);
}
