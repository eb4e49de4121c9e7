import { type PersistentVolumeClaim, SECRETS } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { ownValue } from '@holdfast/machinery';
import { nameOf, namespaceOf } from '../common/meta.ts';
import { DriverError, type Texts } from './port.ts';

export interface SecretPlace {
  readonly namespace: string;
  readonly name: string;
}

/** Parameters of a class with this prefix are for the helpers of a driver, not for the driver. */
export const HELPER_PARAMETERS = 'csi.storage.k8s.io/';

export type SecretUse =
  | 'provisioner'
  | 'controller-publish'
  | 'controller-expand'
  | 'node-stage'
  | 'node-publish'
  | 'node-expand';

/** The secret that a class names for a use, with the claim's own names filled in. Throws when it cannot be read. */
export function secretPlace(
  parameters: Texts,
  use: SecretUse,
  of: { readonly claim: PersistentVolumeClaim; readonly volumeName: string },
): SecretPlace | undefined {
  const name = ownValue(parameters, `${HELPER_PARAMETERS}${use}-secret-name`);
  const namespace = ownValue(parameters, `${HELPER_PARAMETERS}${use}-secret-namespace`);
  if (name === undefined && namespace === undefined) return undefined;
  if (name === undefined || namespace === undefined)
    throw refused(`the class must name both ${use}-secret-name and ${use}-secret-namespace`);
  // A claim may choose the secret of its namespace only: annotations are not for the namespace.
  const { annotations = {} } = of.claim.metadata;
  const names = { 'pvc.name': nameOf(of.claim), 'pvc.namespace': namespaceOf(of.claim), 'pv.name': of.volumeName };
  const ofAnnotations = Object.entries(annotations).map(([key, text]) => [`pvc.annotations['${key}']`, text] as const);
  const { 'pvc.name': _name, ...common } = names;
  const forName = use === 'provisioner' ? names : { ...names, ...Object.fromEntries(ofAnnotations) };
  return { name: filled(name, forName), namespace: filled(namespace, common) };
}

function filled(template: string, values: Texts): string {
  return template.replaceAll(/\$\{([^}]*)\}/g, (_whole, variable: string) => {
    const found = ownValue(values, variable);
    if (found === undefined) throw refused(`the class names a secret with the unknown variable \${${variable}}`);
    return found;
  });
}

const refused = (message: string): DriverError => new DriverError(message, { isRefusal: true });

/** The entries of a secret, as text. Rejects when it does not exist. */
export async function readSecret(client: ApiClient, place: SecretPlace | undefined): Promise<Texts> {
  if (place === undefined) return {};
  const found = await client.find(SECRETS, place);
  if (found === undefined)
    throw new DriverError(`secret "${place.namespace}/${place.name}" for the CSI driver not found: create it`, {
      isRefusal: false,
    });
  const entries = Object.entries(found.data ?? {});
  return Object.fromEntries(entries.map(([key, base64]) => [key, Buffer.from(base64, 'base64').toString('utf8')]));
}

/** The place that a volume names for a use. */
export function placeOf(reference: { readonly namespace?: string; readonly name?: string } | undefined) {
  return reference === undefined ? undefined : { namespace: reference.namespace ?? '', name: reference.name ?? '' };
}
