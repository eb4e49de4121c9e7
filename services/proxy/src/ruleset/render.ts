import { unreachable } from '@holdfast/platform';
import { ELEMENTS_PER_LINE } from '../limits.ts';
import type {
  Action,
  Chain,
  DispatchKey,
  Element,
  Family,
  Hook,
  Match,
  Rule,
  SetShape,
  Table,
  TableChange,
} from './model.ts';

/** The table of this program in both families. */
export const TABLE = 'holdfast-proxy';

/** The bit of the packet mark that requests a masquerade. It is set and cleared within this program's chains. */
const MASQUERADE = '0x4000';
const NOT_MASQUERADE = '0xffffbfff';

const lower = (protocol: string): string => protocol.toLowerCase();

/** The commands that make `change`, for one transaction of nft. */
export function renderChange(change: TableChange): string {
  const at = `${change.family} ${TABLE}`;
  const lines = [
    ...change.addSets.map(([name, shape]) => renderSet(at, name, shape, change.family)),
    ...change.addChains.map(([name, hook]) => `add chain ${at} ${name}${renderHook(hook)}`),
    ...elementLines('delete', at, change.removeElements),
    ...elementLines('add', at, change.addElements),
    ...change.rules.flatMap(([chain, rules]) => [
      `flush chain ${at} ${chain}`,
      ...ruleLines(change.family, chain, rules),
    ]),
    ...change.removeChains.map((name) => `flush chain ${at} ${name}`),
    ...change.removeChains.map((name) => `delete chain ${at} ${name}`),
    ...change.removeSets.map((name) => `delete ${name.startsWith('map-') ? 'map' : 'set'} ${at} ${name}`),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

/** The commands that replace the table of this program, whatever it holds, in one transaction. */
export function renderTable(table: Table): string {
  const at = `${table.family} ${TABLE}`;
  const elements = [...table.elements].flatMap(([set, members]) =>
    [...members].map(([key, value]): Element => ({ set, key, value })),
  );
  // Elements come before rules: the kernel checks a new element against every rule that reads its set.
  const lines = [
    `add table ${at}`,
    `delete table ${at}`,
    `add table ${at}`,
    ...[...table.sets].map(([name, shape]) => renderSet(at, name, shape, table.family)),
    ...[...table.chains].map(([name, { hook }]) => `add chain ${at} ${name}${renderHook(hook)}`),
    ...elementLines('add', at, elements),
    ...[...table.chains].flatMap(([name, { rules }]: readonly [string, Chain]) => ruleLines(table.family, name, rules)),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

const ruleLines = (family: Family, chain: string, rules: readonly Rule[]): readonly string[] =>
  rules.map((each) => `add rule ${family} ${TABLE} ${chain} ${renderRule(family, each)}`);

export const renderRule = (family: Family, { matches, action }: Rule): string =>
  [...matches.map((match) => renderMatch(family, match)), renderAction(family, action)].join(' ');

const renderHook = (hook: Hook | undefined): string =>
  hook === undefined ? '' : ` { type ${hook.type} hook ${hook.hook} priority ${hook.priority} ; }`;

function elementLines(verb: 'add' | 'delete', at: string, elements: readonly Element[]): readonly string[] {
  const bySet = Map.groupBy(elements, ({ set }) => set);
  const lines: string[] = [];
  for (const [set, members] of bySet) {
    for (let from = 0; from < members.length; from += ELEMENTS_PER_LINE) {
      const some = members.slice(from, from + ELEMENTS_PER_LINE);
      const texts = some.map(({ key, value }) => (value === '' || verb === 'delete' ? key : `${key} : ${value}`));
      lines.push(`${verb} element ${at} ${set} { ${texts.join(', ')} }`);
    }
  }
  return lines;
}

function renderSet(at: string, name: string, shape: SetShape, family: Family): string {
  const address = family === 'ip' ? 'ipv4_addr' : 'ipv6_addr';
  switch (shape.kind) {
    case 'addresses':
      return `add set ${at} ${name} { type ${address} ; }`;
    case 'networks':
      return `add set ${at} ${name} { type ${address} ; flags interval ; auto-merge ; }`;
    case 'pairs':
      return `add set ${at} ${name} { type ${address} . ${address} ; }`;
    case 'destinations':
      return `add set ${at} ${name} { type ${address} . inet_proto . inet_service ; }`;
    case 'clients':
      return `add set ${at} ${name} { type ${address} ; flags dynamic,timeout ; timeout ${shape.timeoutSeconds}s ; }`;
    case 'targets':
      // A random number has no named type, so the key is described by an expression.
      return `add map ${at} ${name} { typeof numgen random mod 1 : ${family} daddr . ${lower(shape.protocol)} dport ; }`;
    case 'verdicts':
      return `add map ${at} ${name} { type ${keyType(shape.by, address)} : verdict ; }`;
    case 'stamp':
      return `add set ${at} ${name} { type mark ; }`;
    default:
      return unreachable(shape);
  }
}

function keyType(by: DispatchKey, address: string): string {
  if (by === 'destination') return `${address} . inet_proto . inet_service`;
  return by === 'port' ? 'inet_proto . inet_service' : address;
}

function renderMatch(family: Family, match: Match): string {
  switch (match.kind) {
    case 'address':
      return `${family} ${match.side} ${match.not === true ? '!= ' : ''}@${match.set}`;
    case 'ranges':
      return `${family} ${match.side} ${match.not === true ? '!= ' : ''}{ ${match.ranges.join(', ')} }`;
    case 'link':
      return `iifname "${match.name}" ${family} saddr ${match.source}`;
    case 'local':
      return `fib ${match.side} type local`;
    case 'pair':
      return `${family} saddr . ${family} daddr @${match.set}`;
    case 'destination':
      return `${family} daddr . meta l4proto . th dport @${match.set}`;
    case 'ports': {
      const protocol = `meta l4proto ${lower(match.protocol)}`;
      return match.ports.length === 0 ? protocol : `${protocol} th dport { ${match.ports.join(', ')} }`;
    }
    case 'flow':
      return match.state === 'known' ? 'ct state established,related' : 'ct state invalid';
    case 'translated':
      return 'ct status dnat';
    case 'marked':
      return `meta mark and ${MASQUERADE} == ${MASQUERADE}`;
    default:
      return unreachable(match);
  }
}

function renderAction(family: Family, action: Action): string {
  switch (action.kind) {
    case 'verdict':
      return action.verdict;
    case 'mark':
      return `meta mark set meta mark or ${MASQUERADE}`;
    case 'masquerade':
      return `meta mark set meta mark and ${NOT_MASQUERADE} masquerade fully-random`;
    case 'dispatch':
      return `${dispatchKey(family, action.by)} vmap @${action.map}`;
    case 'balance':
      throw new Error(`the pool ${action.pool} has no slots yet`);
    case 'slots':
      return `meta l4proto ${lower(action.protocol)} dnat ${family} to numgen random mod ${action.count} offset ${action.offset} map @${action.map}`;
    case 'choose':
      return `numgen random mod ${action.chains.length} vmap { ${action.chains.map((chain, i) => `${i} : goto ${chain}`).join(', ')} }`;
    case 'translate':
      return `meta l4proto ${lower(action.protocol)} dnat to ${family === 'ip' ? action.address : `[${action.address}]`}:${action.port}`;
    case 'remember':
      return `update @${action.set} { ${family} saddr }`;
    default:
      return unreachable(action);
  }
}

const dispatchKey = (family: Family, by: DispatchKey): string => {
  if (by === 'destination') return `${family} daddr . meta l4proto . th dport`;
  return by === 'port' ? 'meta l4proto . th dport' : `${family} ${by}`;
};

/** A map that holds targets of a protocol, by slot. */
export const targetsMap = (protocol: string, map: number): string => `map-targets-${lower(protocol)}-${map}`;
