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

export const META = 'io.k8s.apimachinery.pkg.apis.meta.v1.';
export const STATUS = `${META}Status`;
export const DELETE_OPTIONS = `${META}DeleteOptions`;
export const WATCH_EVENT = `${META}WatchEvent`;
export const API_VERSIONS = `${META}APIVersions`;
export const API_GROUP_LIST = `${META}APIGroupList`;
export const API_GROUP = `${META}APIGroup`;
export const API_RESOURCE_LIST = `${META}APIResourceList`;
export const VERSION_INFO = 'io.k8s.apimachinery.pkg.version.Info';
export const RAW_EXTENSION = 'io.k8s.apimachinery.pkg.runtime.RawExtension';
export const FIELDS_V1 = 'io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1';
const EXTENSIONS = 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.';
export const JSON_ANY = `${EXTENSIONS}JSON`;
export const JSON_SCHEMA_OR_ARRAY = `${EXTENSIONS}JSONSchemaPropsOrArray`;
export const JSON_SCHEMA_OR_BOOL = `${EXTENSIONS}JSONSchemaPropsOrBool`;
export const JSON_SCHEMA_OR_STRINGS = `${EXTENSIONS}JSONSchemaPropsOrStringArray`;
