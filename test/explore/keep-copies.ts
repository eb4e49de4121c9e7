import { namespace, type World } from './framework.ts';

/** A ConfigMap with the value of each tank. */
export async function keepCopies({ core, tanks, cached }: World): Promise<void> {
  for (const [name, tank] of tanks) {
    const data = { value: String(tank.spec['value']) };
    const known = cached('configmaps').get(name);
    if (known === undefined) await core.createNamespacedConfigMap({ namespace, body: { metadata: { name }, data } });
    else if (known.data?.['value'] !== data.value) {
      const { uid, resourceVersion } = known.metadata ?? {};
      const body = {
        metadata: {
          name,
          ...(uid === undefined ? {} : { uid }),
          ...(resourceVersion === undefined ? {} : { resourceVersion }),
        },
        data,
      };
      await core.replaceNamespacedConfigMap({ name, namespace, body });
    }
  }
}
