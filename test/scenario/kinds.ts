import { KINDS, type StepKind } from '../sim/hunt/kinds.ts';

/** How a scenario file writes the value of a step. `span`: a time, `share`: between 0 and 1, `whole`: a number. */
export type Unit = 'span' | 'share' | 'whole';

export interface ValueField {
  /** Its key in the file. */
  readonly name: string;
  readonly unit: Unit;
  /** For `span`: the unit of the value in a plan, in milliseconds. */
  readonly spanMs?: number;
}

interface KindWords {
  /** What happens, with `{target}` and `{value}` in their places. */
  readonly says: string;
  readonly value?: ValueField;
}

const DELAY: ValueField = { name: 'delay', unit: 'span', spanMs: 1 };
const LOSS: ValueField = { name: 'loss', unit: 'share' };

/** Each kind of step in words. A new kind needs a line here. */
export const KIND_WORDS: Readonly<Record<StepKind, KindWords>> = {
  isolate: { says: '{target} loses its network' },
  'cut-to-api': { says: 'what {target} sends to the API servers is lost' },
  'cut-from-api': { says: 'what the API servers send to {target} is lost' },
  'cut-master': { says: '{target} loses its network' },
  'lossy-link': { says: '{value} of what {target} and the API servers send each other is lost', value: LOSS },
  'slow-link': { says: 'what {target} and the API servers send each other takes up to {value}', value: DELAY },
  'bus-outage': { says: 'the bus is gone' },
  'lossy-bus': { says: 'the bus loses, doubles and delays {value} of the messages of {target}', value: LOSS },
  'late-kind': { says: 'the bus tells {target} of one kind of objects {value} late', value: DELAY },
  'lost-kind': { says: 'the bus tells {target} nothing of one kind of objects' },
  'store-down': { says: '{target} does not reach the store' },
  'store-slow': { says: 'the store takes {value} more to answer {target}', value: DELAY },
  'feed-lag': { says: 'the store tells {target} of changes up to {value} late', value: DELAY },
  'store-unknown': {
    says: 'the answers of the store to {value} of the writes of {target} are lost',
    value: { name: 'share', unit: 'share' },
  },
  'store-failover': { says: 'the store restarts: it is unreachable, and what was sent to it may be written or not' },
  'store-full': { says: 'the store has no room, and takes no write' },
  'too-many': {
    says: '{target} refuses {value} of the requests as too many (429)',
    value: { name: 'share', unit: 'share' },
  },
  'short-history': {
    says: '{target} remembers the last {value} changes; a watch from before begins anew (410)',
    value: { name: 'changes', unit: 'whole' },
  },
  crash: { says: '{target} is killed, and starts again' },
  'masters-down': { says: 'all processes of the control plane are killed at once, and start again' },
  'kubelet-down': { says: 'the kubelet of {target} is killed, and its containers continue' },
  'power-loss': { says: 'the machine of {target} loses its power' },
  'containers-lost': { says: 'the machine of {target} loses its power, and what its container runtime had stored' },
  'kill-process': { says: 'the processes of {target} end by themselves' },
  'crash-writing': {
    says: '{target} is killed right after it has sent {value} more writes, and starts again',
    value: { name: 'writes', unit: 'whole' },
  },
  pause: { says: '{target} is stopped, and continues as if nothing had happened' },
  'clock-jump': {
    says: 'the wall clock of {target} jumps by {value}',
    value: { name: 'jump', unit: 'span', spanMs: 1 },
  },
  'clock-slow': {
    says: 'the clocks of {target} run {value} thousandths slow',
    value: { name: 'thousandths', unit: 'whole' },
  },
  'disk-slow': { says: 'the container runtime of {target} takes up to {value} more for everything', value: DELAY },
  'disk-full': { says: 'the container runtime of {target} has no room for anything new' },
  'expired-token': { says: 'the credential of {target} has expired' },
  'zone-cut': { says: 'nothing passes between {target} and everything else' },
  'zone-loss': { says: 'the machines of {target} lose their power' },
  'zone-upgrade': { says: 'the processes of {target} end in order and begin anew, one after the other' },
  'doubled-link': { says: '{value} of the packets of {target} arrive twice', value: { name: 'share', unit: 'share' } },
  'reordered-link': {
    says: '{value} of the packets of {target} arrive after later ones',
    value: { name: 'share', unit: 'share' },
  },
  'spoiled-link': {
    says: '{value} of the larger packets of {target} arrive with another byte',
    value: { name: 'share', unit: 'share' },
  },
  'narrow-link': {
    says: '{target} sends at most {value} kB in a second, and what is more is lost',
    value: { name: 'kilobytes', unit: 'whole' },
  },
  'no-names': { says: '{target} finds no address of a name' },
  'tight-memory': {
    says: '{target} gets {value} MB more than it has, and ends when it needs more',
    value: { name: 'megabytes', unit: 'whole' },
  },
  'expired-certificate': { says: 'the certificate of {target} has expired, and it starts again with it' },
  'store-moved': { says: 'the leader of the log hands over to another server, in order' },
  'store-rewrites': { says: 'the store rewrites its file while it is asked' },
  'store-torn': { says: 'the store is killed while it writes: its file ends with half an entry' },
  'delete-pod': { says: 'a user deletes {target}' },
  'delete-again': {
    says: 'a user deletes {target}, and again with a grace of {value}',
    value: { name: 'grace', unit: 'span', spanMs: 1000 },
  },
  'delete-named': { says: 'a user takes the uid of {target}, and deletes by it when the time is over' },
  'force-delete': { says: 'a user removes {target} by force' },
  evict: { says: 'a user evicts {target}' },
  'evict-all': { says: 'users evict all pods of {target} at once' },
  race: { says: 'users evict, delete and change all pods of {target} at once, through all API servers' },
  'roll-out': { says: 'a user changes the template of {target}' },
  scale: { says: 'a user scales {target} to {value}', value: { name: 'replicas', unit: 'whole' } },
  'recreate-pod': { says: 'a user deletes the pod `one`, and creates it again when the time is over' },
  'recreate-set': { says: 'a user deletes {target} with its pods, and creates it again' },
  'run-job': {
    says: 'a user starts a Job, which goes {value} after its end (0: it stays)',
    value: { name: 'ttl', unit: 'span', spanMs: 1000 },
  },
  'use-app': {
    says: 'a user creates a Deployment, and deletes it (foreground {value}; 1: what it owns goes first)',
    value: { name: 'foreground', unit: 'whole' },
  },
  'use-owner': {
    says: 'a user creates a ConfigMap with {value} objects that it owns, and deletes it',
    value: { name: 'children', unit: 'whole' },
  },
  'churn-owners': {
    says: 'a user creates ConfigMaps with {value} objects that each owns, and deletes each after a moment, until the time is over',
    value: { name: 'children', unit: 'whole' },
  },
  'use-room': {
    says: 'a user places {value} pods on {target} that ask for more than it has, and deletes them one after the other',
    value: { name: 'pods', unit: 'whole' },
  },
  'fill-quota': {
    says: 'users create {value} ConfigMaps in a namespace that may have 4, and delete them',
    value: { name: 'objects', unit: 'whole' },
  },
  'add-finalizer': { says: 'a user adds a finalizer to {target}' },
  drain: { says: 'a user drains {target}, and uncordons it' },
  'delete-node': { says: 'a user deletes the Node {target}' },
  'lose-machine': { says: '{target} is turned off, and a user declares it out of service' },
  'taint-healthy': { says: 'a user declares {target} out of service by mistake' },
  'bind-pod': { says: 'a user binds a pending pod' },
  'change-budget': {
    says: 'a user sets minAvailable of the budget of `web` to {value}',
    value: { name: 'minAvailable', unit: 'whole' },
  },
  'orphan-set': { says: 'a user deletes {target} without its pods, and creates it again' },
  'relabel-pod': { says: 'a user takes {target} away from its controller by its label' },
  'use-namespace': { says: 'a user creates a namespace, and deletes it' },
};

export const isKind = (name: string): name is StepKind => Object.hasOwn(KINDS, name);
