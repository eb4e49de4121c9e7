import type { Volume } from '@holdfast/api';
import {
  type AnyContainer,
  type Candidate,
  type Check,
  containersOf,
  named,
  namesWhere,
  plural,
  quoted,
  setters,
  sortedSet,
  type Violation,
} from './check.ts';
import { badSeccompProfiles } from './seccomp.ts';

function privilegeEscalation(candidate: Candidate): Violation | undefined {
  const names = namesWhere(candidate, ({ securityContext }) => securityContext?.allowPrivilegeEscalation !== false);
  if (names.length === 0) return undefined;
  const detail = `${named(names)} must set securityContext.allowPrivilegeEscalation=false`;
  return { reason: 'allowPrivilegeEscalation != false', detail };
}

function capabilities(candidate: Candidate): Violation | undefined {
  const added = ({ securityContext }: AnyContainer): readonly string[] =>
    (securityContext?.capabilities?.add ?? []).filter((name) => name !== 'NET_BIND_SERVICE');
  const keeping = namesWhere(
    candidate,
    ({ securityContext }) => securityContext?.capabilities?.drop?.includes('ALL') !== true,
  );
  const adding = namesWhere(candidate, (each) => added(each).length > 0);
  const forbidden = quoted(sortedSet(containersOf(candidate).flatMap(added)));
  const details = [
    ...(keeping.length === 0 ? [] : [`${named(keeping)} must set securityContext.capabilities.drop=["ALL"]`]),
    ...(adding.length === 0
      ? []
      : [`${named(adding)} must not include ${forbidden} in securityContext.capabilities.add`]),
  ];
  return details.length === 0 ? undefined : { reason: 'unrestricted capabilities', detail: details.join('; ') };
}

const VOLUME_TYPES = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'persistentVolumeClaim',
  'projected',
  'secret',
] as const;

function volumes({ spec }: Candidate): Violation | undefined {
  const bad = (spec.volumes ?? []).filter((volume: Volume) => VOLUME_TYPES.every((type) => volume[type] === undefined));
  if (bad.length === 0) return undefined;
  const types = sortedSet(bad.map((volume) => Object.keys(volume).find((key) => key !== 'name') ?? 'unknown'));
  const who = named(
    bad.map(({ name }) => name),
    'volume',
    'volumes',
  );
  const what = plural(types.length, 'restricted volume type', 'restricted volume types');
  return {
    reason: 'restricted volume types',
    detail: `${who} ${plural(bad.length, 'uses', 'use')} ${what} ${quoted(types)}`,
  };
}

function runAsNonRoot(candidate: Candidate): Violation | undefined {
  const reason = 'runAsNonRoot != true';
  const pod = candidate.spec.securityContext?.runAsNonRoot;
  const saysRoot = namesWhere(candidate, ({ securityContext }) => securityContext?.runAsNonRoot === false);
  const who = setters(pod === false, saysRoot);
  if (who !== '') return { reason, detail: `${who} must not set securityContext.runAsNonRoot=false` };
  if (pod === true) return undefined;
  const silent = namesWhere(candidate, ({ securityContext }) => securityContext?.runAsNonRoot === undefined);
  if (silent.length === 0) return undefined;
  return { reason, detail: `pod or ${named(silent)} must set securityContext.runAsNonRoot=true` };
}

function runAsUser(candidate: Candidate): Violation | undefined {
  const who = setters(
    candidate.spec.securityContext?.runAsUser === 0,
    namesWhere(candidate, ({ securityContext }) => securityContext?.runAsUser === 0),
  );
  return who === '' ? undefined : { reason: 'runAsUser=0', detail: `${who} must not set runAsUser=0` };
}

function seccomp(candidate: Candidate): Violation | undefined {
  const bad = badSeccompProfiles(candidate);
  if (bad !== undefined || candidate.spec.securityContext?.seccompProfile !== undefined) return bad;
  const silent = namesWhere(candidate, ({ securityContext }) => securityContext?.seccompProfile === undefined);
  if (silent.length === 0) return undefined;
  const detail = `pod or ${named(silent)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`;
  return { reason: 'seccompProfile', detail };
}

const WINDOWS_EXEMPT_SINCE = 25;

export const RESTRICTED: readonly Check[] = [
  {
    id: 'allowPrivilegeEscalation',
    since: 8,
    notForWindowsSince: WINDOWS_EXEMPT_SINCE,
    find: privilegeEscalation,
  },
  { id: 'capabilities_restricted', since: 22, notForWindowsSince: WINDOWS_EXEMPT_SINCE, find: capabilities },
  { id: 'restrictedVolumes', since: 0, find: volumes },
  { id: 'runAsNonRoot', since: 0, find: runAsNonRoot },
  { id: 'runAsUser', since: 23, find: runAsUser },
  { id: 'seccompProfile_restricted', since: 19, notForWindowsSince: WINDOWS_EXEMPT_SINCE, find: seccomp },
];
