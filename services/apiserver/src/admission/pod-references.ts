import type { Container, Pod, Volume } from '@holdfast/api';

/** A place in a pod that names a secret. */
export interface SecretUse {
  readonly name: string;
  readonly kind: 'volume' | 'container' | 'init container' | 'ephemeral container' | 'pull';
  /** The container and its variable; '' for all variables from a secret. */
  readonly container: string;
  readonly variable: string;
}

/**
 * Returns the first reference that a static pod cannot have, because only its node knows it; `undefined` when there is
 * none.
 */
export function referenceOf(pod: Pod): string | undefined {
  const volumes = pod.spec.volumes ?? [];
  if (secretUses(pod).length > 0 || volumes.some(projects('secret')) || volumes.some(opensWithSecret)) return 'secrets';
  if (
    volumes.some(({ configMap }) => configMap !== undefined) ||
    volumes.some(projects('configMap')) ||
    readsConfig(pod)
  ) {
    return 'configmaps';
  }
  const isClaim = ({ persistentVolumeClaim, ephemeral }: Volume): boolean =>
    persistentVolumeClaim !== undefined || ephemeral !== undefined;
  if (volumes.some(isClaim)) return 'persistentvolumeclaims';
  return (pod.spec.resourceClaims ?? []).length > 0 ? 'resourceclaims' : undefined;
}

/** Volumes whose driver or server asks for a secret. */
const opensWithSecret = (volume: Volume): boolean =>
  volume.azureFile !== undefined ||
  volume.csi?.nodePublishSecretRef !== undefined ||
  [volume.cephfs, volume.cinder, volume.flexVolume, volume.iscsi, volume.rbd, volume.scaleIO, volume.storageos].some(
    (source) => source?.secretRef !== undefined,
  );

const projects =
  (what: 'secret' | 'configMap' | 'serviceAccountToken') =>
  ({ projected }: Volume): boolean =>
    (projected?.sources ?? []).some((source) => source[what] !== undefined);

export const projectsToken = ({ spec }: Pod): boolean => (spec.volumes ?? []).some(projects('serviceAccountToken'));

function readsConfig({ spec }: Pod): boolean {
  return [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])].some(
    ({ env = [], envFrom = [] }) =>
      env.some(({ valueFrom }) => valueFrom?.configMapKeyRef !== undefined) ||
      envFrom.some(({ configMapRef }) => configMapRef !== undefined),
  );
}

/** In the order of the pod: volumes, containers of each kind, pull secrets. */
export function secretUses({ spec }: Pod): readonly SecretUse[] {
  const volumes = (spec.volumes ?? []).flatMap(({ secret }) =>
    secret === undefined ? [] : [useOf('volume', secret.secretName)],
  );
  return [
    ...volumes,
    ...(spec.initContainers ?? []).flatMap((each) => inContainer('init container', each)),
    ...spec.containers.flatMap((each) => inContainer('container', each)),
    ...ephemeralUses({ spec }),
    ...(spec.imagePullSecrets ?? []).map(({ name }) => useOf('pull', name)),
  ];
}

export const ephemeralUses = ({ spec }: Pick<Pod, 'spec'>): readonly SecretUse[] =>
  (spec.ephemeralContainers ?? []).flatMap((each) => inContainer('ephemeral container', each));

const useOf = (kind: SecretUse['kind'], name = '', container = '', variable = ''): SecretUse => ({
  kind,
  name,
  container,
  variable,
});

function inContainer(
  kind: SecretUse['kind'],
  { name, env = [], envFrom = [] }: Pick<Container, 'name' | 'env' | 'envFrom'>,
): readonly SecretUse[] {
  const each = env.flatMap((variable) => {
    const key = variable.valueFrom?.secretKeyRef;
    return key === undefined ? [] : [useOf(kind, key.name, name, variable.name)];
  });
  const whole = envFrom.flatMap(({ secretRef }) =>
    secretRef === undefined ? [] : [useOf(kind, secretRef.name, name)],
  );
  return [...each, ...whole];
}
