import type { StoredObject } from '@holdfast/store';

/** The lines of each object, by a label that is the same in every run. Objects with generated names share a label. */
export type EndState = ReadonlyMap<string, readonly (readonly string[])[]>;

const IGNORED = /^(core\/events|events\.k8s\.io\/events|coordination\.k8s\.io\/leases)\//;
/** Fields that tell when and how often, not what. */
const IGNORED_FIELDS: ReadonlySet<string> = new Set([
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'managedFields',
  'generation',
  'observedGeneration',
  'selfLink',
]);
export const UID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
/** The volume that admission adds to each pod: only its end is chance. */
const TOKEN_VOLUME = /^kube-api-access-[a-z0-9]{5}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

interface Parsed {
  readonly label: string;
  readonly value: Content;
}

interface Content {
  readonly metadata: { readonly name: string; readonly uid?: string; readonly generateName?: string };
  readonly spec?: { readonly clusterIP?: string };
  readonly status?: { readonly podIP?: string; readonly hostIP?: string };
}

/** What a cluster holds that differs from where it began, without what differs by nature. */
export function endStateOf(objects: readonly StoredObject[], base: ReadonlyMap<string, number>): EndState {
  const all = objects.filter(({ key }) => !IGNORED.test(key)).map((object) => ({ object, ...parsed(object) }));
  const names = new Naming(all);
  const changed = all.filter(({ object }) => base.get(object.key) !== object.revision);
  const state = new Map<string, (readonly string[])[]>();
  for (const { label, value } of changed) {
    const lines: string[] = [];
    flatten(value, '', names, lines);
    state.set(label, [...(state.get(label) ?? []), lines]);
  }
  const present = new Set(objects.map(({ key }) => key));
  for (const key of base.keys()) if (!present.has(key) && !IGNORED.test(key)) state.set(key, []);
  for (const group of state.values()) group.sort((a, b) => compare(a.join('\n'), b.join('\n')));
  return state;
}

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

/** `core/pods/default/web-*` for a generated name. */
function parsed({ key, value }: StoredObject): Parsed {
  const content = JSON.parse(value) as Content;
  return { label: labelOf(key, content.metadata.generateName), value: content };
}

/** A name that is generated, or made of a uid, is known by the rest: `core/persistentvolumes/-/pvc-*`. */
export function labelOf(key: string, generateName: string | undefined): string {
  return generateName === undefined
    ? key.replace(UID, '*')
    : `${key.slice(0, key.lastIndexOf('/') + 1)}${generateName}*`;
}

/** Which address a pod or a service gets is chance. One of the node is not its own. */
function addressOf({ label, value: { spec, status } }: Parsed): string | undefined {
  if (label.startsWith('core/services/')) return spec?.clusterIP === 'None' ? undefined : spec?.clusterIP;
  const { podIP, hostIP } = label.startsWith('core/pods/') ? (status ?? {}) : {};
  return podIP === hostIP ? undefined : podIP;
}

/** Generated names, addresses and uids, by what they mean. */
class Naming {
  readonly #uids = new Map<string, string>();
  readonly #names = new Map<string, string>();

  constructor(all: readonly Parsed[]) {
    for (const each of all) {
      const { label, value } = each;
      const { uid, name, generateName } = value.metadata;
      const address = addressOf(each);
      if (address !== undefined) this.#names.set(address, `<address of ${label}>`);
      if (uid !== undefined) this.#uids.set(uid, label);
      if (generateName !== undefined) this.#names.set(name, `${generateName}*`);
    }
  }

  plain(text: string): string {
    if (TIME.test(text)) return '<time>';
    if (TOKEN_VOLUME.test(text)) return 'kube-api-access-*';
    const known = this.#names.get(text);
    if (known !== undefined) return known;
    return text.replace(UID, (uid) => `<uid of ${this.#uids.get(uid) ?? 'nothing'}>`);
  }
}

function flatten(value: unknown, path: string, names: Naming, lines: string[]): void {
  if (typeof value !== 'object' || value === null) {
    lines.push(`${path} = ${typeof value === 'string' ? names.plain(value) : JSON.stringify(value)}`);
    return;
  }
  const entries = Object.entries(value);
  if (entries.length === 0) lines.push(`${path} = ${Array.isArray(value) ? '[]' : '{}'}`);
  for (const [key, child] of entries.toSorted(([a], [b]) => compare(a, b))) {
    // The uid of another object tells whom this one means.
    if (IGNORED_FIELDS.has(key) && !(key === 'uid' && path !== 'metadata')) continue;
    flatten(child, path === '' ? key : `${path}.${key}`, names, lines);
  }
}

/** One difference of two end states. */
export interface Difference {
  readonly kind: 'left over' | 'missing' | 'differs';
  readonly label: string;
  readonly lines: readonly string[];
}

/** What differs between two runs that should be equal. */
export type Mask = ReadonlySet<string>;

export const NO_MASK: Mask = new Set();

export function maskOf(one: EndState, other: EndState): Mask {
  const differences = differencesOf(one, other, NO_MASK);
  return new Set(
    differences.flatMap(({ kind, label, lines }) =>
      kind === 'differs' ? lines.map((line) => maskKey(label, line.slice(2))) : [maskKey(label, '')],
    ),
  );
}

/** A masked line is known by its path, a masked object by its label alone. */
const maskKey = (label: string, line: string): string => `${label}|${line.split(' = ')[0] ?? ''}`;

/** `-` marks what the reference has, `+` what the run has. */
export function differencesOf(reference: EndState, run: EndState, mask: Mask): readonly Difference[] {
  const labels = new Set([...reference.keys(), ...run.keys()]);
  return [...labels].toSorted(compare).flatMap((label) => {
    if (mask.has(maskKey(label, ''))) return [];
    return ofLabel(label, reference.get(label) ?? [], run.get(label) ?? [], mask);
  });
}

function ofLabel(
  label: string,
  wanted: readonly (readonly string[])[],
  found: readonly (readonly string[])[],
  mask: Mask,
): readonly Difference[] {
  if (found.length > wanted.length) {
    return [{ kind: 'left over', label, lines: [`+ ${found.length} in place of ${wanted.length}`] }];
  }
  if (found.length < wanted.length) {
    return [{ kind: 'missing', label, lines: [`- ${found.length} in place of ${wanted.length}`] }];
  }
  const lines = wanted.flatMap((lines, i) => linesOf(label, lines, found[i] ?? [], mask));
  return lines.length === 0 ? [] : [{ kind: 'differs', label, lines }];
}

function linesOf(label: string, wanted: readonly string[], found: readonly string[], mask: Mask): readonly string[] {
  const isShown = (line: string): boolean => !mask.has(maskKey(label, line));
  const [before, after] = [new Set(wanted), new Set(found)];
  return [
    ...wanted.filter((line) => !after.has(line) && isShown(line)).map((line) => `- ${line}`),
    ...found.filter((line) => !before.has(line) && isShown(line)).map((line) => `+ ${line}`),
  ];
}
