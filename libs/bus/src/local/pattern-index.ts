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

interface Branch<T> {
  readonly children: Map<string, Branch<T>>;
  /** Entries whose pattern ends at this branch. */
  readonly ends: Set<T>;
  /** Entries whose pattern continues with `>`. */
  readonly tails: Set<T>;
}

export function createPatternIndex<T>(): PatternIndex<T> {
  const root = createBranch<T>();
  return {
    add(pattern, entry) {
      const { path, tail } = parse(pattern);
      let branch = root;
      for (const token of path) branch = childOf(branch, token);
      (tail ? branch.tails : branch.ends).add(entry);
    },
    remove(pattern, entry) {
      const { path, tail } = parse(pattern);
      prune(root, path, (branch) => (tail ? branch.tails : branch.ends).delete(entry));
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
  return { children: new Map(), ends: new Set(), tails: new Set() };
}

function childOf<T>(branch: Branch<T>, token: string): Branch<T> {
  const known = branch.children.get(token);
  if (known !== undefined) return known;
  const created = createBranch<T>();
  branch.children.set(token, created);
  return created;
}

/**
 * Removes the entry at the end of `path` and the branches that become empty, so that deleted nodes leave nothing
 * behind.
 */
function prune<T>(branch: Branch<T>, path: readonly string[], removeFrom: (branch: Branch<T>) => void): void {
  const [token, ...rest] = path;
  if (token === undefined) {
    removeFrom(branch);
    return;
  }
  const child = branch.children.get(token);
  if (child === undefined) return;
  prune(child, rest, removeFrom);
  if (child.children.size + child.ends.size + child.tails.size === 0) branch.children.delete(token);
}

function walk<T>(branch: Branch<T>, tokens: readonly string[], depth: number, visit: (entry: T) => void): void {
  const token = tokens[depth];
  if (token === undefined) {
    for (const entry of branch.ends) visit(entry);
    return;
  }
  for (const entry of branch.tails) visit(entry);
  const exact = branch.children.get(token);
  if (exact !== undefined) walk(exact, tokens, depth + 1, visit);
  const any = branch.children.get('*');
  if (any !== undefined) walk(any, tokens, depth + 1, visit);
}
