import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Gvk {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

export interface Property {
  readonly type?: string;
  readonly format?: string;
  readonly $ref?: string;
  readonly items?: Property;
  readonly additionalProperties?: Property;
  readonly 'x-kubernetes-list-type'?: string;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-map-type'?: string;
  readonly 'x-kubernetes-patch-strategy'?: string;
  readonly 'x-kubernetes-patch-merge-key'?: string;
}

export interface Definition {
  readonly type?: string;
  readonly format?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Property>>;
  readonly 'x-kubernetes-map-type'?: string;
  readonly 'x-kubernetes-group-version-kind'?: readonly Gvk[];
}

export interface Operation {
  readonly 'x-kubernetes-action'?: string;
  readonly 'x-kubernetes-group-version-kind'?: Gvk;
  readonly responses?: Readonly<Record<string, { readonly schema?: Property }>>;
}

export interface Swagger {
  readonly definitions: Readonly<Record<string, Definition>>;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

export function readSwagger(directory: string): Swagger {
  return JSON.parse(readFileSync(join(directory, 'swagger.json'), 'utf8')) as Swagger;
}

const STABLE_PREFIXES: readonly (readonly [prefix: string, short: string])[] = [
  ['io.k8s.apimachinery.pkg.apis.meta.v1.', 'meta.v1.'],
  ['io.k8s.api.core.v1.', 'core.v1.'],
  ['io.k8s.api.apps.v1.', 'apps.v1.'],
  ['io.k8s.api.batch.v1.', 'batch.v1.'],
  ['io.k8s.api.autoscaling.v2.', 'autoscaling.v2.'],
  ['io.k8s.api.autoscaling.v1.', 'autoscaling.v1.'],
  ['io.k8s.api.policy.v1.', 'policy.v1.'],
  ['io.k8s.api.rbac.v1.', 'rbac.v1.'],
  ['io.k8s.api.authentication.v1.', 'authentication.v1.'],
  ['io.k8s.api.authorization.v1.', 'authorization.v1.'],
  ['io.k8s.api.scheduling.v1.', 'scheduling.v1.'],
  ['io.k8s.api.coordination.v1.', 'coordination.v1.'],
  ['io.k8s.api.discovery.v1.', 'discovery.v1.'],
  ['io.k8s.api.networking.v1.', 'networking.v1.'],
  ['io.k8s.api.node.v1.', 'node.v1.'],
  ['io.k8s.api.storage.v1.', 'storage.v1.'],
  ['io.k8s.api.certificates.v1.', 'certificates.v1.'],
  ['io.k8s.api.admissionregistration.v1.', 'admissionregistration.v1.'],
  ['io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.', 'apiextensions.v1.'],
  ['io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.', 'apiregistration.v1.'],
  ['io.k8s.api.flowcontrol.v1.', 'flowcontrol.v1.'],
  ['io.k8s.api.events.v1.', 'events.v1.'],
];

/** The OpenAPI names whose meaning is a scalar or free JSON rather than a struct, with their code in a field table. */
const SPECIAL: Readonly<Record<string, string>> = {
  'io.k8s.apimachinery.pkg.api.resource.Quantity': 'q',
  'io.k8s.apimachinery.pkg.util.intstr.IntOrString': 'o',
  'io.k8s.apimachinery.pkg.apis.meta.v1.Time': 't',
  'io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime': 'u',
  'io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1': '*',
  'io.k8s.apimachinery.pkg.apis.meta.v1.Patch': '*',
  'io.k8s.apimachinery.pkg.runtime.RawExtension': '*',
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON': '*',
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray': '*',
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool': '*',
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray': '*',
};

/** A struct of a stable group. `name` is `core.v1.Pod`. */
export interface Struct {
  readonly name: string;
  readonly package: string;
  readonly shortName: string;
  readonly definition: Definition;
}

/** In a fixed order: packages as listed above, then by name. */
export function stableStructs(swagger: Swagger): readonly Struct[] {
  const structs: Struct[] = [];
  for (const [prefix, short] of STABLE_PREFIXES) {
    for (const full of Object.keys(swagger.definitions).sort()) {
      const rest = full.slice(prefix.length);
      if (!full.startsWith(prefix) || rest.includes('.') || full in SPECIAL) continue;
      const definition = swagger.definitions[full] ?? {};
      structs.push({ name: short + rest, package: short.slice(0, -1), shortName: rest, definition });
    }
  }
  return structs;
}

export type Ref = { readonly special: string } | { readonly struct: string };

export function resolveRef(ref: string): Ref {
  const full = ref.replace('#/definitions/', '');
  const special = SPECIAL[full];
  if (special !== undefined) return { special };
  for (const [prefix, short] of STABLE_PREFIXES) {
    if (full.startsWith(prefix)) return { struct: short + full.slice(prefix.length) };
  }
  throw new Error(`${ref} is not of a stable group: add its package to STABLE_PREFIXES or its code to SPECIAL`);
}
