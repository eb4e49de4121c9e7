import { INGRESS_CLASS_ANNOTATION, INGRESS_CLASSES, type Ingress, type IngressClass } from '@holdfast/api';
import { parseTime } from '@holdfast/platform';
import type { AdmissionDeps, AdmissionPlugin } from '../port.ts';

const DEFAULT_ANNOTATION = 'ingressclass.kubernetes.io/is-default-class';

/** An ingress that names no class gets the default one, if there is one. */
export const createDefaultIngressClass = (deps: AdmissionDeps): AdmissionPlugin => ({
  name: 'DefaultIngressClass',
  handles: ({ definition, operation, subresource }) =>
    definition.group === 'networking.k8s.io' &&
    definition.plural === 'ingresses' &&
    operation === 'CREATE' &&
    subresource === '',
  admit: ({ object }) => {
    const ingress = object as Ingress | undefined;
    if (ingress?.spec === undefined || ingress.spec.ingressClassName !== undefined) return;
    if (ingress.metadata.annotations?.[INGRESS_CLASS_ANNOTATION] !== undefined) return;
    const name = defaultClass(deps)?.metadata.name;
    if (name !== undefined) ingress.spec.ingressClassName = name;
  },
});

/** The newest of several; of equally old ones the first by name. */
function defaultClass(deps: AdmissionDeps): IngressClass | undefined {
  const created = (each: IngressClass): number => parseTime(each.metadata.creationTimestamp ?? '') ?? 0;
  return deps.reader
    .list(INGRESS_CLASSES)
    .filter(({ metadata }) => metadata.annotations?.[DEFAULT_ANNOTATION] === 'true')
    .toSorted((a, b) => created(b) - created(a))[0];
}
