import type { Scenario } from '../../scenario/model.ts';
import { FORM_FIELDS } from '../../scenario/model.ts';
import { type StepKind } from '../../sim/hunt/kinds.ts';
import { COMPOSE_FORMS, composeFormOf, type FormName } from '../support/compose-form.ts';

const YES = undefined;

/** Why the containers of no form can do a kind; `undefined`: those of a form can. A new kind needs a line here. */
export const CONTAINER_REFUSALS: Readonly<Record<StepKind, string | undefined>> = {
  isolate: YES,
  'cut-to-api': YES,
  'cut-from-api': YES,
  'cut-master': YES,
  'lossy-link': YES,
  'slow-link': YES,
  'bus-outage': YES,
  'lossy-bus': 'the bus is a NATS server, whose connections lose nothing while they last',
  'late-kind': 'the bus is a NATS server with one connection for each process; use feed-lag',
  'lost-kind': 'the bus is a NATS server, whose connections lose nothing while they last',
  'store-down': YES,
  'store-slow': YES,
  'feed-lag': YES,
  'store-unknown': YES,
  'store-failover': YES,
  'store-full': YES,
  'too-many': 'the API server refuses by itself what is too many; add clients',
  crash: YES,
  'masters-down': YES,
  'kubelet-down':
    'the kubelet is the first process of its container, and its pods end with it; use pause or power-loss',
  'power-loss': YES,
  'containers-lost': 'the processes of pods are no containers in the compose form; use power-loss',
  'kill-process': YES,
  'crash-writing': 'nobody outside a container can stop it between two of its writes; use crash',
  pause: YES,
  'clock-jump': YES,
  'clock-slow': YES,
  'disk-slow': 'the processes of pods are no containers in the compose form; use pause',
  'disk-full': 'the processes of pods are no containers in the compose form',
  'expired-token': 'the credentials of the container form outlast a run',
  'zone-cut': YES,
  'zone-loss': YES,
  'zone-upgrade': YES,
  'doubled-link': YES,
  'reordered-link': YES,
  'spoiled-link': YES,
  'narrow-link': YES,
  'no-names': YES,
  'tight-memory': YES,
  'expired-certificate': YES,
  'store-moved': YES,
  'store-rewrites': YES,
  'store-torn': YES,
  'delete-pod': YES,
  'delete-again': YES,
  'delete-named': YES,
  'force-delete': 'a removal by force gives up the identity that the checkers guard',
  evict: YES,
  'evict-all': YES,
  race: YES,
  'roll-out': YES,
  scale: YES,
  'recreate-pod': YES,
  'recreate-set': YES,
  'run-job': YES,
  'add-finalizer': YES,
  drain: YES,
  'delete-node': 'it gives up the identities of the node, which the checkers guard',
  'lose-machine': 'it gives up the identities of the node, which the checkers guard',
  'taint-healthy': 'it gives up the identities of the node, which the checkers guard',
  'bind-pod': YES,
  'change-budget': YES,
  'orphan-set': YES,
  'relabel-pod': YES,
  'use-namespace': YES,
  'use-app': YES,
  'use-owner': YES,
  'fill-quota': 'the container form has no namespace with a quota',
  'short-history': 'an API server remembers what it remembers',
  'churn-owners': 'no user of the container form does that yet',
  'use-room': 'no user of the container form does that yet',
};

const ONE_CONNECTION = 'an API server has one connection for the log and its changes; use slow-link or zone-cut';
const OWN_DISKS = 'faults of the disks of the log are played by npm run chaos -- --log disk-full,torn-end';
const ONE_ZONE = 'the form with one Redis has no zones; ask for 3 API servers, schedulers and controller managers';

/** What only the other form can do. */
export const FORM_REFUSALS: Readonly<Record<FormName, Readonly<Partial<Record<StepKind, string>>>>> = {
  S: { 'zone-cut': ONE_ZONE, 'zone-loss': ONE_ZONE, 'zone-upgrade': ONE_ZONE, 'store-moved': ONE_ZONE },
  H: {
    'store-slow': ONE_CONNECTION,
    'feed-lag': ONE_CONNECTION,
    'store-unknown': ONE_CONNECTION,
    'store-full': OWN_DISKS,
    'store-rewrites': 'the servers of the log rewrite no file',
    'store-torn': OWN_DISKS,
  },
};

const refusalOf = (kind: StepKind, form: FormName): string | undefined =>
  CONTAINER_REFUSALS[kind] ?? FORM_REFUSALS[form][kind];

export const canForm = (kind: StepKind, form: FormName): boolean => refusalOf(kind, form) === undefined;

/** One sentence for each thing that the compose form cannot do. Empty: it can play the scenario. */
export function refusalsOf({ form, schedule }: Scenario): readonly string[] {
  const name = composeFormOf(form);
  const shape = COMPOSE_FORMS[name];
  const shapes = (Object.keys(shape) as (keyof typeof shape)[])
    .filter((key) => form[key] !== shape[key])
    .map(
      (key) => `form.${FORM_FIELDS[key].name}: the compose form has ${shape[key]}, and the file asks for ${form[key]}.`,
    );
  const kinds = [...new Set(schedule.map((step) => step.do))].flatMap((kind) => {
    const why = refusalOf(kind, name);
    return why === undefined ? [] : [`${kind}: containers cannot do this: ${why}.`];
  });
  const isObserved = schedule.some(({ targets }) => targets.includes('observer'));
  const observer = isObserved ? ['target observer: the compose form has no follower that could be disturbed.'] : [];
  const isLater = schedule.some(({ when }) => when !== undefined);
  const moments = isLater
    ? ['when: nobody sees the moments of containers in time; give the step a time of its own.']
    : [];
  return [...shapes, ...kinds, ...observer, ...moments];
}
