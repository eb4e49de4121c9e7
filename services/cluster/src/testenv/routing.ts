import { OPERATIONS, type Operation } from './operations.ts';
import { Problem } from './problem.ts';

export interface Route {
  readonly operation: Operation;
  /** The id in the path; empty without one. */
  readonly id: string;
}

const PATH_CHARS_SHOWN = 200;

/** Finds the operation of a request. Throws a `Problem` for an unknown path or method. */
export function routeOf(method: string, path: string): Route {
  const routes = OPERATIONS.flatMap((operation) => {
    const id = idIn(operation.path, path);
    return id === undefined ? [] : [{ operation, id }];
  });
  const route = routes.find(({ operation }) => operation.method === method);
  if (route !== undefined) return route;
  const shown = path.slice(0, PATH_CHARS_SHOWN);
  if (routes.length === 0) {
    throw new Problem(404, `there is no path ${shown}`, `Use ${PATHS.join(', ')}; /openapi.json describes them.`);
  }
  const allow = routes.map(({ operation }) => operation.method);
  throw new Problem(405, `${shown} has no method ${method}`, `Use ${allow.join(' or ')}.`, allow);
}

const PATHS = [...new Set(OPERATIONS.map(({ path }) => path))];

/** `undefined` when the path is another one. Ids are plain words: they are compared as they are. */
function idIn(pattern: string, path: string): string | undefined {
  const [wanted, given] = [pattern.split('/'), path.split('/')];
  if (wanted.length !== given.length) return undefined;
  let id = '';
  for (const [i, segment] of wanted.entries()) {
    const found = given[i] ?? '';
    if (segment === '{id}' && found !== '') id = found;
    else if (segment !== found) return undefined;
  }
  return id;
}
