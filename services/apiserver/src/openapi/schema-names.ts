/** Names under which clients look types up: `core.v1.Pod` is published as `io.k8s.api.core.v1.Pod`. */
export function publishedName(struct: string): string {
  const [group = ''] = struct.split('.', 1);
  return `${PREFIX_OF.get(group) ?? 'io.k8s.api.'}${struct}`;
}

const PREFIX_OF: ReadonlyMap<string, string> = new Map([
  ['meta', 'io.k8s.apimachinery.pkg.apis.'],
  ['apiextensions', 'io.k8s.apiextensions-apiserver.pkg.apis.'],
  ['apiregistration', 'io.k8s.kube-aggregator.pkg.apis.'],
]);

export const QUANTITY = 'io.k8s.apimachinery.pkg.api.resource.Quantity';
export const INT_OR_STRING = 'io.k8s.apimachinery.pkg.util.intstr.IntOrString';
export const TIME = 'io.k8s.apimachinery.pkg.apis.meta.v1.Time';
export const MICRO_TIME = 'io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime';
export const PATCH = 'io.k8s.apimachinery.pkg.apis.meta.v1.Patch';
