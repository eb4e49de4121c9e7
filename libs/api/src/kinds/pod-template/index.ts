import { semanticEqual } from '@holdfast/machinery';
import { labelMapText, nameColumn, textColumn } from '../../columns/columns.ts';
import { setPodTemplateDefaults } from '../../defaults/pod-spec.ts';
import { setDefault } from '../../defaults/set.ts';
import { DEFAULT_FEATURES } from '../../features.ts';
import type { PodTemplate } from '../../generated/types.ts';
import { POD_TEMPLATES } from '../../refs.ts';
import { dnsSubdomainErrors } from '../../validation/formats.ts';
import { validatePodTemplate } from '../../validation/pod/pod-template.ts';
import { checked } from '../checked.ts';
import { defineResource } from '../define.ts';
import { dropDisabledPodFields } from '../pod/disabled-fields.ts';
import { templateWarnings } from '../template-warnings.ts';

const META = { namespaced: true, name: dnsSubdomainErrors } as const;

export const podTemplateResource = defineResource(POD_TEMPLATES, {
  setDefaults: (template) => {
    setDefault(template, 'template', { metadata: {}, spec: { containers: [] } });
    setPodTemplateDefaults(template.template);
  },
  strategy: {
    prepareForCreate: (object, { features = DEFAULT_FEATURES }) =>
      dropDisabledPodFields(object.template.spec, undefined, features),
    prepareForUpdate: (object, old, { features = DEFAULT_FEATURES }) =>
      dropDisabledPodFields(object.template.spec, old.template.spec, features),
    ...checked<PodTemplate>(META, (out, { template }) => validatePodTemplate(out, 'template', template)),
    generationChanges: ({ template }, old) => !semanticEqual(template, old.template),
    warnings: templateWarnings<PodTemplate>({ template: ({ template }) => template, path: 'template' }),
    allowUnconditionalUpdate: true,
  },
  columns: [
    nameColumn,
    textColumn('Containers', 'The names of the containers', (object) =>
      object.template.spec.containers.map((container) => container.name).join(','),
    ),
    textColumn('Images', 'The images of the containers', (object) =>
      object.template.spec.containers.map((container) => container.image ?? '').join(','),
    ),
    textColumn('Pod Labels', 'The labels of the pods', (object) => labelMapText(object.template.metadata.labels)),
  ],
});
