import type { Expr, Fold, FoldKind, Ident } from './ast.ts';

interface Place {
  readonly id: number;
  readonly offset: number;
}
interface Member {
  readonly name: string;
  readonly target: Expr;
  readonly args: readonly Expr[];
}

/** The arguments of a macro are invalid. */
export class MacroError extends Error {
  override readonly name = 'MacroError';
  readonly offset: number;
  constructor(offset: number, message: string) {
    super(message);
    this.offset = offset;
  }
}

/** Expands `has(a.b)`. Returns `undefined` when the call is not a macro. */
export function expandGlobalMacro(place: Place, name: string, args: readonly Expr[]): Expr | undefined {
  const [arg] = args;
  if (name !== 'has' || arg === undefined || args.length !== 1) return undefined;
  if (arg.op !== 'select' || arg.mode !== 'value') throw new MacroError(arg.offset, 'invalid argument to has() macro');
  return { ...arg, ...place, mode: 'has' };
}

type Expansion = (place: Place, member: Member) => Expr;

const quantifier =
  (fold: FoldKind): Expansion =>
  (place, member) =>
    foldOf(place, member, { fold, condition: member.args.at(-1), transform: undefined });

/** By name and number of arguments. */
const MEMBER_MACROS: ReadonlyMap<string, Expansion> = new Map<string, Expansion>([
  ['all/2', quantifier('all')],
  ['all/3', quantifier('all')],
  ['exists/2', quantifier('exists')],
  ['exists/3', quantifier('exists')],
  ['exists_one/2', quantifier('existsOne')],
  ['existsOne/2', quantifier('existsOne')],
  ['exists_one/3', quantifier('existsOne')],
  ['existsOne/3', quantifier('existsOne')],
  ['map/2', (place, member) => transformed(place, member, 1)],
  ['map/3', (place, member) => transformed(place, member, 1)],
  ['filter/2', filtered],
  ['transformList/3', (place, member) => transformed(place, member, 2)],
  ['transformList/4', (place, member) => transformed(place, member, 2)],
  ['transformMap/3', (place, member) => transformed(place, member, 2, 'map')],
  ['transformMap/4', (place, member) => transformed(place, member, 2, 'map')],
  ['optMap/2', (place, member) => optionalMap(place, member, false)],
  ['optFlatMap/2', (place, member) => optionalMap(place, member, true)],
]);

/** Returns `undefined` when the call is not a macro. */
export function expandMemberMacro(place: Place, member: Member): Expr | undefined {
  return MEMBER_MACROS.get(`${member.name}/${member.args.length}`)?.(place, member);
}

function transformed(place: Place, member: Member, variables: number, fold: FoldKind = 'list'): Expr {
  const rest = member.args.slice(variables);
  const condition = rest.length === 2 ? rest[0] : undefined;
  return foldOf(
    place,
    { ...member, args: [...member.args.slice(0, variables), ...rest.slice(-1)] },
    {
      fold,
      condition,
      transform: rest.at(-1),
    },
  );
}

function filtered(place: Place, member: Member): Expr {
  const element = nameOf(member.args[0]);
  return foldOf(place, member, { fold: 'list', condition: member.args[1], transform: { ...element } });
}

function foldOf(place: Place, member: Member, parts: Pick<Fold, 'fold' | 'condition' | 'transform'>): Fold {
  const variables = member.args.slice(0, -1).map((each) => nameOf(each).name);
  if (variables.length === 2 && variables[0] === variables[1]) {
    throw new MacroError(member.args[1]?.offset ?? 0, `duplicate variable name: ${variables[0]}`);
  }
  return { op: 'fold', ...place, range: member.target, variables, ...parts };
}

function optionalMap(place: Place, { target, args }: Member, flat: boolean): Expr {
  const body = args[1] as Expr;
  return { op: 'optMap', ...place, target, variable: nameOf(args[0]).name, body, flat };
}

function nameOf(arg: Expr | undefined): Ident {
  if (arg?.op === 'ident') return arg;
  throw new MacroError(arg?.offset ?? 0, 'argument must be a simple name');
}
