/** The two forms of the compose files: S keeps everything in one Redis, H in a log with a replica in each of three zones. */
export type FormName = 'S' | 'H';

/** What a form has, as a scenario says it. */
interface Shape {
  readonly nodes: number;
  readonly apiServers: number;
  readonly schedulers: number;
  readonly managers: number;
  readonly hasFencer: boolean;
}

export const COMPOSE_FORMS: Readonly<Record<FormName, Shape>> = {
  S: { nodes: 3, apiServers: 2, schedulers: 1, managers: 1, hasFencer: false },
  H: { nodes: 3, apiServers: 3, schedulers: 3, managers: 3, hasFencer: false },
};

/** Three API servers are three zones. */
export const composeFormOf = ({ apiServers }: Pick<Shape, 'apiServers'>): FormName =>
  apiServers === COMPOSE_FORMS.H.apiServers ? 'H' : 'S';

export const apiServersOf = (form: FormName): readonly string[] =>
  Array.from({ length: COMPOSE_FORMS[form].apiServers }, (_, i) => `apiserver-${i + 1}`);

export const nodesOf = (form: FormName): readonly string[] =>
  Array.from({ length: COMPOSE_FORMS[form].nodes }, (_, i) => `node-${i + 1}`);

/** The servers that keep what is stored. */
export const storesOf = (form: FormName): readonly string[] =>
  form === 'S' ? ['redis'] : apiServersOf(form).map((_, i) => `nats-${i + 1}`);

/** Those that tell of changes: in H the log is told by the servers that keep it. */
export const busesOf = (form: FormName): readonly string[] => (form === 'S' ? ['nats'] : storesOf(form));

/** Every process of the control plane. */
export function mastersOf(form: FormName): readonly string[] {
  const { schedulers, managers } = COMPOSE_FORMS[form];
  const several = (name: string, count: number): readonly string[] =>
    Array.from({ length: count }, (_, i) => (i === 0 ? name : `${name}-${i + 1}`));
  return [...apiServersOf(form), ...several('scheduler', schedulers), ...several('controller-manager', managers)];
}

/** The services of `zone-2` of form H, in the order in which they are upgraded: clients of others first. */
export function servicesOfZone(zone: string): readonly string[] {
  const number = zone.replace('zone-', '');
  const suffix = number === '1' ? '' : `-${number}`;
  return [`scheduler${suffix}`, `controller-manager${suffix}`, `apiserver-${number}`, `nats-${number}`];
}

/** The service of a process of a scenario: the first API server has no number there. */
export const serviceOf = (party: string): string => (party === 'apiserver' ? 'apiserver-1' : party);
