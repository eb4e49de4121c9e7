import type { SeccompProfile } from '@holdfast/api';
import { type Candidate, containersOf, namesWhere, quoted, setters, sortedSet, type Violation } from './check.ts';

const isBad = (profile: SeccompProfile | undefined): boolean =>
  profile !== undefined && profile.type !== 'RuntimeDefault' && profile.type !== 'Localhost';

/** Returns a violation by an unconfined profile. */
export function badSeccompProfiles(candidate: Candidate): Violation | undefined {
  const own = candidate.spec.securityContext?.seccompProfile;
  const inContainers = containersOf(candidate).map(({ securityContext }) => securityContext?.seccompProfile);
  const who = setters(
    isBad(own),
    namesWhere(candidate, ({ securityContext }) => isBad(securityContext?.seccompProfile)),
  );
  if (who === '') return undefined;
  const types = sortedSet([own, ...inContainers].filter(isBad).map((profile) => profile?.type ?? ''));
  return {
    reason: 'seccompProfile',
    detail: `${who} must not set securityContext.seccompProfile.type to ${quoted(types)}`,
  };
}
