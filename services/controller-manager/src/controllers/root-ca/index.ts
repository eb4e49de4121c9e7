import { CONFIG_MAPS, type ConfigMap, NAMESPACES, type Namespace } from '@holdfast/api';
import type { ControllerContext, ControllerDefinition, Loop } from '../../common/context.ts';
import { isTerminating, nameOf, namespaceOf } from '../../common/meta.ts';
import { isAlreadyExists, isNamespaceTerminating, unlessChanged } from '../../common/writes.ts';
import { WORKERS_PER_CONTROLLER } from '../../limits.ts';

const NAME = 'kube-root-ca.crt';
const KEY = 'ca.crt';
const DESCRIPTION = {
  'kubernetes.io/description':
    'Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.',
};

export interface RootCaSettings {
  /** PEM of the authority that signed the API server's certificate. Absent: nothing is published. */
  readonly rootCa?: string | undefined;
}

/** Every namespace has the certificate by which its pods know the API server. */
export const rootCaController = ({ rootCa }: { readonly rootCa: string }): ControllerDefinition => ({
  name: 'root-ca-certificate-publisher',
  component: 'root-ca-cert-publisher',
  identity: 'manager',
  watches: [NAMESPACES, CONFIG_MAPS],
  create: (context) => [createLoop(context, rootCa)],
});

export type RootCaAction = { readonly kind: 'create' | 'update'; readonly object: ConfigMap } | undefined;

export function decide(
  namespace: Namespace | undefined,
  existing: ConfigMap | undefined,
  rootCa: string,
): RootCaAction {
  if (namespace === undefined || isTerminating(namespace)) return undefined;
  const data = { [KEY]: rootCa };
  if (existing === undefined) {
    const metadata = { namespace: nameOf(namespace), name: NAME, annotations: DESCRIPTION };
    return { kind: 'create', object: { apiVersion: 'v1', kind: 'ConfigMap', metadata, data } };
  }
  const same = existing.data?.[KEY] === rootCa && Object.keys(existing.data).length === 1;
  return same ? undefined : { kind: 'update', object: { ...existing, data } };
}

function createLoop(context: ControllerContext, rootCa: string): Loop {
  const namespaces = context.informers.of(NAMESPACES);
  const configMaps = context.informers.of(CONFIG_MAPS);
  return {
    name: 'root-ca-certificate-publisher',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () => namespaces.list().map(nameOf),
    wake: (enqueue) => [
      namespaces.onChange(({ key, object }) => {
        if (object !== undefined) enqueue(key);
      }),
      configMaps.onChange(({ object, old }) => {
        const changed = object ?? old;
        if (changed !== undefined && nameOf(changed) === NAME) enqueue(namespaceOf(changed));
      }),
    ],
    reconcile: async (name) => {
      const published = configMaps.get({ namespace: name, name: NAME });
      await apply(context, decide(namespaces.get({ name }), published, rootCa));
      return {};
    },
  };
}

async function apply({ client }: ControllerContext, action: RootCaAction): Promise<void> {
  if (action === undefined) return;
  if (action.kind === 'update') {
    await unlessChanged(() => client.update(CONFIG_MAPS, action.object));
    return;
  }
  try {
    await client.create(CONFIG_MAPS, action.object);
  } catch (error) {
    if (!isAlreadyExists(error) && !isNamespaceTerminating(error)) throw error;
  }
}
