import { NAMESPACES, type Namespace, SERVICE_ACCOUNTS, type ServiceAccount } from '@holdfast/api';
import type { ControllerContext, ControllerDefinition, Loop } from '../../common/context.ts';
import { isTerminating, nameOf, namespaceOf } from '../../common/meta.ts';
import { isAlreadyExists, isNamespaceTerminating } from '../../common/writes.ts';
import { WORKERS_PER_CONTROLLER } from '../../limits.ts';

const DEFAULT = 'default';

/** Every namespace has the account that pods use when they name none. */
export const serviceAccountController: ControllerDefinition = {
  name: 'serviceaccount',
  component: 'service-account-controller',
  identity: 'manager',
  watches: [NAMESPACES, SERVICE_ACCOUNTS],
  create: (context) => [createLoop(context)],
};

/** The account to create, or undefined when the namespace has it or is on its way out. */
export function decide(
  namespace: Namespace | undefined,
  existing: ServiceAccount | undefined,
): ServiceAccount | undefined {
  if (namespace === undefined || isTerminating(namespace) || existing !== undefined) return undefined;
  const metadata = { namespace: nameOf(namespace), name: DEFAULT };
  return { apiVersion: 'v1', kind: 'ServiceAccount', metadata };
}

function createLoop(context: ControllerContext): Loop {
  const namespaces = context.informers.of(NAMESPACES);
  const accounts = context.informers.of(SERVICE_ACCOUNTS);
  return {
    name: 'serviceaccount',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () => namespaces.list().map(nameOf),
    wake: (enqueue) => [
      namespaces.onChange(({ key, object }) => {
        if (object !== undefined) enqueue(key);
      }),
      accounts.onChange(({ object, old }) => {
        if (object === undefined && old !== undefined && nameOf(old) === DEFAULT) enqueue(namespaceOf(old));
      }),
    ],
    reconcile: async (name) => {
      const account = decide(namespaces.get({ name }), accounts.get({ namespace: name, name: DEFAULT }));
      if (account !== undefined) await create(context, account);
      return {};
    },
  };
}

async function create({ client }: ControllerContext, account: ServiceAccount): Promise<void> {
  try {
    await client.create(SERVICE_ACCOUNTS, account);
  } catch (error) {
    if (!isAlreadyExists(error) && !isNamespaceTerminating(error)) throw error;
  }
}
