import {
  type FieldError,
  forbidden,
  invalid,
  required,
  semanticEqual,
  tooLong,
  type Verbatim,
} from '@holdfast/machinery';
import { ageColumn, nameColumn, textColumn } from '../../columns/columns.ts';
import { setDefault } from '../../defaults/set.ts';
import type { VolumeAttachment } from '../../generated/types.ts';
import { VOLUME_ATTACHMENTS } from '../../refs.ts';
import { validateDnsSubdomain, validateRequiredText } from '../../validation/check.ts';
import { byteLength, dnsSubdomainErrors } from '../../validation/formats.ts';
import { goPointer, goString, goStruct, goStructText } from '../../validation/go-text.ts';
import { IMMUTABLE_TEXT } from '../../validation/numbers.ts';
import { validateCsiDriverName } from '../../validation/pod/volume-sources.ts';
import { checkedInSteps } from '../checked.ts';
import { defineResource } from '../define.ts';
import { setSourceDefaults } from '../persistent-volume/defaults.ts';
import { validateVolumeSpec } from '../persistent-volume/spec.ts';
import { keepStatus, statusAlone } from '../strategy.ts';

const META = { namespaced: false, name: dnsSubdomainErrors } as const;
const ERROR_BYTES_MAX = 1024;
const METADATA_BYTES_MAX = 256 * 1024;

const goSpec = ({ attacher, nodeName, source }: Readonly<VolumeAttachment['spec']>): Verbatim =>
  goStruct('storage.VolumeAttachmentSpec', {
    Attacher: goString(attacher),
    Source: goStructText('storage.VolumeAttachmentSource', {
      PersistentVolumeName: goPointer('string', source.persistentVolumeName),
      InlineVolumeSpec: goPointer('core.PersistentVolumeSpec', source.inlineVolumeSpec),
    }),
    NodeName: goString(nodeName),
  });

const checks = checkedInSteps<VolumeAttachment>(META, {
  whole: validateAttachment,
  change: (out, { spec }, old) => {
    if (!semanticEqual(spec, old.spec)) out.push(invalid('spec', goSpec(spec), IMMUTABLE_TEXT));
  },
  onUpdate: ['whole', 'whole', 'change'],
});

export const volumeAttachmentResource = defineResource(VOLUME_ATTACHMENTS, {
  setDefaults: (attachment) => {
    setDefault(attachment, 'spec', { attacher: '', nodeName: '', source: {} });
    setDefault(attachment.spec, 'source', {});
    const { inlineVolumeSpec } = attachment.spec.source;
    if (inlineVolumeSpec !== undefined) setSourceDefaults(inlineVolumeSpec);
    setDefault(attachment, 'status', { attached: false });
    setDefault(attachment.status, 'attached', false);
  },
  strategy: {
    prepareForCreate: (attachment) => {
      attachment.status = { attached: false };
    },
    prepareForUpdate: keepStatus,
    ...checks,
    allowUnconditionalUpdate: false,
  },
  status: statusAlone(checks.validateUpdate),
  columns: [
    nameColumn,
    { ...textColumn('Attacher', 'Who attaches the volume', ({ spec }) => spec.attacher), format: 'name' },
    textColumn('PV', 'The volume', ({ spec }) => spec.source.persistentVolumeName ?? ''),
    textColumn('Node', 'The node that the volume is attached to', ({ spec }) => spec.nodeName),
    {
      name: 'Attached',
      type: 'boolean',
      description: 'Whether the volume is attached',
      priority: 0,
      cell: ({ status }) => status.attached,
    },
    ageColumn,
  ],
});

function validateAttachment(
  out: FieldError[],
  { spec, status }: Readonly<VolumeAttachment>,
  old: Readonly<VolumeAttachment> | undefined,
): void {
  validateRequiredText(out, 'spec.attacher', spec.attacher);
  validateSource(out, spec.source);
  validateDnsSubdomain(out, 'spec.nodeName', spec.nodeName);
  validateMetadata(out, status.attachmentMetadata ?? {});
  for (const key of ['attachError', 'detachError'] as const) {
    const message = status[key]?.message ?? '';
    // Kubernetes names the limit of the metadata here.
    if (byteLength(message) > ERROR_BYTES_MAX) out.push(tooLong(`status.${key}.message`, METADATA_BYTES_MAX));
  }
  if (old !== undefined) return;
  validateCsiDriverName(out, 'spec.attacher', spec.attacher);
  const name = spec.source.persistentVolumeName;
  if (name !== undefined) validateDnsSubdomain(out, 'spec.source.persistentVolumeName', name);
}

function validateSource(out: FieldError[], source: Readonly<VolumeAttachment['spec']['source']>): void {
  const { persistentVolumeName: name, inlineVolumeSpec: inline } = source;
  if (name === undefined && inline === undefined) {
    out.push(required('spec.source', 'must specify exactly one of inlineVolumeSpec and persistentVolumeName'));
  } else if (name !== undefined && inline !== undefined) {
    out.push(forbidden('spec.source', 'must specify exactly one of inlineVolumeSpec and persistentVolumeName'));
  } else if (name === '') {
    out.push(required('spec.source.persistentVolumeName', 'must specify non empty persistentVolumeName'));
  } else if (inline !== undefined) {
    validateVolumeSpec(out, inline, { path: 'spec.source.inlineVolumeSpec', name: '', isInline: true });
  }
}

function validateMetadata(out: FieldError[], metadata: Readonly<Record<string, string>>): void {
  let bytes = 0;
  for (const [key, value] of Object.entries(metadata)) {
    bytes += byteLength(key) + byteLength(value);
  }
  if (bytes > METADATA_BYTES_MAX) out.push(tooLong('status.attachmentMetadata', METADATA_BYTES_MAX));
}
