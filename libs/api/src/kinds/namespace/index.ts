import { ageColumn, nameColumn, textColumn } from '../../columns/columns.ts';
import { setConditionTimes, setDefault, setDefaultOfZero } from '../../defaults/set.ts';
import type { Namespace } from '../../generated/types.ts';
import { NAMESPACES } from '../../refs.ts';
import { defineResource } from '../define.ts';
import { keepSpec, keepStatus } from '../strategy.ts';
import {
  validateNamespaceCreate,
  validateNamespaceFinalize,
  validateNamespaceStatusUpdate,
  validateNamespaceUpdate,
} from './validation.ts';

const NAME_LABEL = 'kubernetes.io/metadata.name';
const FINALIZER = 'kubernetes';

export const namespaceResource = defineResource(NAMESPACES, {
  setDefaults: (namespace) => {
    setDefault(namespace, 'spec', {});
    setDefault(namespace, 'status', {});
    setConditionTimes(namespace.status.conditions, 'lastTransitionTime');
    setDefaultOfZero(namespace.status, 'phase', 'Active');
    setNameLabel(namespace);
  },
  strategy: {
    prepareForCreate: (namespace) => {
      namespace.status = { phase: 'Active' };
      setNameLabel(namespace);
      const finalizers = namespace.spec.finalizers ?? [];
      namespace.spec.finalizers = finalizers.includes(FINALIZER) ? finalizers : [...finalizers, FINALIZER];
    },
    prepareForUpdate: (namespace, old) => {
      keepStatus(namespace, old);
      if (old.spec.finalizers === undefined) delete namespace.spec.finalizers;
      else namespace.spec.finalizers = old.spec.finalizers;
    },
    validateCreate: validateNamespaceCreate,
    validateUpdate: validateNamespaceUpdate,
    allowUnconditionalUpdate: true,
  },
  status: { prepareForUpdate: keepSpec, validateUpdate: validateNamespaceStatusUpdate },
  subresources: {
    finalize: { verbs: ['update'], prepareForUpdate: keepStatus, validateUpdate: validateNamespaceFinalize },
  },
  columns: [nameColumn, textColumn('Status', 'The phase of the namespace', (n) => n.status.phase ?? ''), ageColumn],
  selectableFields: { 'status.phase': (n) => n.status.phase ?? '' },
});

/** This label lets selectors match a namespace by its name. */
function setNameLabel(namespace: Namespace): void {
  const name = namespace.metadata.name;
  if (name) (namespace.metadata.labels ??= {})[NAME_LABEL] = name;
}
