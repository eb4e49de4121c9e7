import { createSystemClock, dateOf, parseTime } from '@holdfast/platform';
import {
  CoordinationV1Api,
  CoreV1Api,
  CustomObjectsApi,
  KubeConfig,
  type KubernetesObject,
  makeInformer,
  V1MicroTime,
} from '@kubernetes/client-node';

/**
 * An operator as its authors write them, with the official client alone: it keeps a ConfigMap for each shop, cleans up behind a
 * finalizer, reports in the status and with events, and works only while it holds a lease. Arguments: kubeconfig, own name, version.
 */
const [kubeconfig = '', identity = '', version = ''] = process.argv.slice(2);
const clock = createSystemClock();
const config = new KubeConfig();
config.loadFromFile(kubeconfig);
const core = config.makeApiClient(CoreV1Api);
const objects = config.makeApiClient(CustomObjectsApi);
const leases = config.makeApiClient(CoordinationV1Api);

const namespace = 'default';
const SHOPS = { group: 'shops.example.com', version, namespace, plural: 'shops' };
const FINALIZER = 'shops.example.com/cleanup';
const LEASE = 'shop-operator';
const LEASE_SECONDS = 2;
const LOOK_MS = 400;

interface Shop extends KubernetesObject {
  /** v1 has `goods`, v2 has `stock.goods`. */
  readonly spec: { readonly goods?: readonly string[]; readonly stock?: { readonly goods: readonly string[] } };
  readonly status?: { readonly goods?: number; readonly by?: string; readonly observedGeneration?: number };
}

const codeOf = (error: unknown): number | undefined =>
  typeof error === 'object' && error !== null && 'code' in error ? Number(error.code) : undefined;

/** `undefined` where the API answers with this code. */
async function unless<T>(code: number, asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (codeOf(error) === code) return undefined;
    throw error;
  }
}

async function holdsLease(): Promise<boolean> {
  const now = clock.now();
  const mine = { holderIdentity: identity, leaseDurationSeconds: LEASE_SECONDS, renewTime: new V1MicroTime(now) };
  const lease = await unless(404, leases.readNamespacedLease({ name: LEASE, namespace }));
  if (lease === undefined) {
    const body = { metadata: { name: LEASE }, spec: mine };
    return (await unless(409, leases.createNamespacedLease({ namespace, body }))) !== undefined;
  }
  const { holderIdentity, renewTime } = lease.spec ?? {};
  const isOver = renewTime === undefined || now - (parseTime(String(renewTime)) ?? 0) > LEASE_SECONDS * 1_000;
  if (holderIdentity !== identity && !isOver) return false;
  const body = Object.assign(lease, { spec: Object.assign(lease.spec ?? {}, mine) });
  return (await unless(409, leases.replaceNamespacedLease({ name: LEASE, namespace, body }))) !== undefined;
}

async function reconcile(shop: Shop): Promise<void> {
  const { name = '', deletionTimestamp, finalizers = [] } = shop.metadata ?? {};
  if (deletionTimestamp !== undefined) return finish(shop, name);
  if (!finalizers.includes(FINALIZER)) {
    const body = withFinalizers(shop, [...finalizers, FINALIZER]);
    await objects.replaceNamespacedCustomObject({ ...SHOPS, name, body });
    return;
  }
  const goods = shop.spec.stock?.goods ?? shop.spec.goods ?? [];
  await keepConfigMap(`${name}-shelf`, goods, [ownerOf(shop)]);
  // Outside of what garbage collection knows: only the finalizer takes it away.
  await keepConfigMap(`${name}-ledger`, goods, []);
  await report(shop, goods.length);
}

function withFinalizers(shop: Shop, finalizers: string[]): Shop {
  const copy = structuredClone(shop);
  Object.assign(copy.metadata ?? {}, { finalizers });
  return copy;
}

const ownerOf = (shop: Shop) => ({
  apiVersion: shop.apiVersion ?? '',
  kind: 'Shop',
  name: shop.metadata?.name ?? '',
  uid: shop.metadata?.uid ?? '',
  controller: true,
});

async function keepConfigMap(
  name: string,
  goods: readonly string[],
  ownerReferences: readonly ReturnType<typeof ownerOf>[],
): Promise<void> {
  const data = { goods: goods.join(',') };
  const known = await unless(404, core.readNamespacedConfigMap({ name, namespace }));
  if (known === undefined) {
    const body = { metadata: { name, ownerReferences: [...ownerReferences] }, data };
    await unless(409, core.createNamespacedConfigMap({ namespace, body }));
  } else if (known.data?.['goods'] !== data.goods) {
    await core.replaceNamespacedConfigMap({ name, namespace, body: Object.assign(known, { data }) });
  }
}

async function report(shop: Shop, goods: number): Promise<void> {
  const { name = '', uid = '', generation = 0 } = shop.metadata ?? {};
  if (shop.status?.observedGeneration === generation && shop.status.goods === goods) return;
  const status = { goods, by: identity, observedGeneration: generation };
  await objects.replaceNamespacedCustomObjectStatus({ ...SHOPS, name, body: { ...shop, status } });
  const at = dateOf(clock.now());
  await core.createNamespacedEvent({
    namespace,
    body: {
      metadata: { generateName: `${name}.` },
      involvedObject: { apiVersion: shop.apiVersion ?? '', kind: 'Shop', name, namespace, uid },
      reason: 'Stocked',
      message: `${goods} goods are on the shelf`,
      type: 'Normal',
      source: { component: 'shop-operator' },
      firstTimestamp: at,
      lastTimestamp: at,
      count: 1,
    },
  });
}

async function finish(shop: Shop, name: string): Promise<void> {
  const finalizers = (shop.metadata?.finalizers ?? []).filter((each) => each !== FINALIZER);
  if (finalizers.length === shop.metadata?.finalizers?.length) return;
  await unless(404, core.deleteNamespacedConfigMap({ name: `${name}-ledger`, namespace }));
  const body = withFinalizers(shop, finalizers);
  await unless(404, objects.replaceNamespacedCustomObject({ ...SHOPS, name, body }));
}

const known = new Map<string, Shop>();
const list = () => objects.listNamespacedCustomObject(SHOPS) as Promise<{ items: Shop[]; metadata: object }>;
const path = `/apis/${SHOPS.group}/${version}/namespaces/${namespace}/shops`;
const informer = makeInformer<Shop>(config, path, list as never);
const keep = (shop: Shop): unknown => known.set(shop.metadata?.name ?? '', shop);
informer.on('add', keep);
informer.on('update', keep);
informer.on('delete', (shop) => known.delete(shop.metadata?.name ?? ''));
informer.on('error', () => void clock.sleep(LOOK_MS).then(() => informer.start()));
await informer.start();
process.stdout.write('started\n');

for (;;) {
  try {
    if (await holdsLease()) for (const shop of known.values()) await unless(409, reconcile(shop));
  } catch (error) {
    process.stderr.write(`${String(error)}\n`);
  }
  await clock.sleep(LOOK_MS);
}
