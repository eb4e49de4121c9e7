import type { JsonObject } from '@holdfast/machinery';
import type { User } from '../authentication/identity.ts';

/** `authentication.k8s.io/v1 UserInfo`. */
export const userInfoOf = (user: User): JsonObject => ({
  username: user.name,
  ...(user.uid === undefined || user.uid === '' ? {} : { uid: user.uid }),
  groups: user.groups,
  ...(user.extra === undefined || Object.keys(user.extra).length === 0 ? {} : { extra: user.extra }),
});
