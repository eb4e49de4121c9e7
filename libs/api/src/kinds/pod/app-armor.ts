import { ownValue } from '@holdfast/machinery';
import type { AppArmorProfile, Container, EphemeralContainer, Pod } from '../../generated/types.ts';
import { byteLength } from '../../validation/formats.ts';
import { APP_ARMOR_PROFILE_BYTES_MAX } from '../../validation/limits.ts';

const ANNOTATION = 'container.apparmor.security.beta.kubernetes.io/';
const LOCALHOST = 'localhost/';

/**
 * AppArmor profiles are fields now and were annotations before. Setting one sets both, so that old nodes comply, too.
 * Returns warnings.
 */
export function alignAppArmorProfiles(pod: Pod): readonly string[] {
  const { spec } = pod;
  const warnings: string[] = [];
  if (spec.os?.name === 'windows') return warnings;
  for (const containers of [spec.initContainers, spec.containers, spec.ephemeralContainers]) {
    for (const container of containers ?? []) {
      if (!align(pod, container, spec.securityContext?.appArmorProfile)) continue;
      const annotation = `metadata.annotations[${ANNOTATION}${container.name}]`;
      warnings.push(`${annotation}: deprecated since v1.30; use the "appArmorProfile" field instead`);
    }
  }
  return warnings;
}

/** Returns true when only the annotation defines the container's profile. */
function align(pod: Pod, container: Container | EphemeralContainer, ofPod: AppArmorProfile | undefined): boolean {
  const own = container.securityContext?.appArmorProfile;
  const key = `${ANNOTATION}${container.name}`;
  const annotation = ownValue(pod.metadata.annotations, key);
  if (annotation === undefined) {
    const text = annotationOf(own ?? ofPod);
    if (text !== undefined) (pod.metadata.annotations ??= {})[key] = text;
  }
  if (annotation === undefined || own !== undefined) return false;
  const profile = profileOf(annotation);
  if (profile === undefined) return true;
  if (isSame(profile, ofPod)) return false;
  container.securityContext = { ...container.securityContext, appArmorProfile: profile };
  return true;
}

function annotationOf(profile: AppArmorProfile | undefined): string | undefined {
  if (profile?.type === 'Unconfined') return 'unconfined';
  if (profile?.type === 'RuntimeDefault') return 'runtime/default';
  if (profile?.type !== 'Localhost' || profile.localhostProfile === undefined) return undefined;
  return `${LOCALHOST}${profile.localhostProfile}`;
}

function profileOf(annotation: string): AppArmorProfile | undefined {
  if (annotation === 'unconfined') return { type: 'Unconfined' };
  if (annotation === 'runtime/default') return { type: 'RuntimeDefault' };
  if (!annotation.startsWith(LOCALHOST)) return undefined;
  const localhostProfile = annotation.slice(LOCALHOST.length);
  const isValid =
    localhostProfile !== '' &&
    localhostProfile.trim() === localhostProfile &&
    byteLength(localhostProfile) <= APP_ARMOR_PROFILE_BYTES_MAX;
  return isValid ? { type: 'Localhost', localhostProfile } : undefined;
}

const isSame = (profile: AppArmorProfile, other: AppArmorProfile | undefined): boolean =>
  profile.type === other?.type && profile.localhostProfile === other.localhostProfile;
