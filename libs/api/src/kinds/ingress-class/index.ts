import { type FieldError, forbidden, invalid, notSupported, required, tooLong } from '@holdfast/machinery';
import { ageColumn, NONE, nameColumn, textColumn } from '../../columns/columns.ts';
import { setDefault } from '../../defaults/set.ts';
import type { IngressClass, IngressClassParametersReference } from '../../generated/types.ts';
import { INGRESS_CLASSES } from '../../refs.ts';
import { validateDnsLabel } from '../../validation/check.ts';
import { byteLength, dnsSubdomainErrors } from '../../validation/formats.ts';
import { IMMUTABLE_TEXT } from '../../validation/numbers.ts';
import { checkedInSteps } from '../checked.ts';
import { defineResource } from '../define.ts';
import { validateObjectRef } from '../ingress/validation.ts';
import { validateDomainPath } from '../job/policies.ts';
import { nothingToPrepare, specChanged } from '../strategy.ts';

const META = { namespaced: false, name: dnsSubdomainErrors } as const;
const CONTROLLER_BYTES_MAX = 250;

export const ingressClassResource = defineResource(INGRESS_CLASSES, {
  setDefaults: (ingressClass) => {
    setDefault(ingressClass, 'spec', {});
    if (ingressClass.spec.parameters !== undefined) setDefault(ingressClass.spec.parameters, 'scope', 'Cluster');
  },
  strategy: {
    prepareForCreate: nothingToPrepare,
    prepareForUpdate: nothingToPrepare,
    ...checkedInSteps<IngressClass>(META, {
      whole: (out, { spec }) => {
        const controller = spec.controller ?? '';
        if (byteLength(controller) > CONTROLLER_BYTES_MAX) out.push(tooLong('spec.controller', CONTROLLER_BYTES_MAX));
        validateDomainPath(out, 'spec.controller', controller);
        if (spec.parameters !== undefined) validateParameters(out, 'spec.parameters', spec.parameters);
      },
      change: (out, { spec: { controller = '' } }, old) => {
        if (controller !== (old.spec.controller ?? '')) {
          out.push(invalid('spec.controller', controller, IMMUTABLE_TEXT));
        }
      },
      onUpdate: ['metadata', 'change', 'whole'],
    }),
    generationChanges: specChanged,
    allowUnconditionalUpdate: true,
  },
  columns: [
    nameColumn,
    textColumn('Controller', 'Who serves ingresses of this class', ({ spec }) => spec.controller ?? ''),
    textColumn('Parameters', 'How it is configured', ({ spec }) => parametersText(spec.parameters)),
    ageColumn,
  ],
});

function parametersText(parameters: Readonly<IngressClassParametersReference> | undefined): string {
  if (parameters === undefined) return NONE;
  const { kind, apiGroup, name } = parameters;
  return `${kind}${apiGroup ? `.${apiGroup}` : ''}/${name}`;
}

function validateParameters(out: FieldError[], path: string, ref: Readonly<IngressClassParametersReference>): void {
  validateObjectRef(out, path, ref);
  const { scope, namespace } = ref;
  if (scope === undefined) out.push(required(`${path}.scope`));
  else if (scope !== 'Cluster' && scope !== 'Namespace')
    out.push(notSupported(`${path}.scope`, scope, ['Cluster', 'Namespace']));
  else if (scope === 'Cluster') {
    if (namespace !== undefined) out.push(forbidden(`${path}.namespace`, "`parameters.scope` is set to 'Cluster'"));
  } else if (namespace === undefined) {
    out.push(required(`${path}.namespace`, "`parameters.scope` is set to 'Namespace'"));
  } else validateDnsLabel(out, `${path}.namespace`, namespace);
}
