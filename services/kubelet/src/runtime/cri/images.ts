import type { ImageStatus, RegistryCredentials, RuntimeImages } from '../port-images.ts';
import type { CriConnection } from './connection.ts';
import type { Image } from './generated/cri_pb.js';
import { PULL_DEADLINE_MS, QUICK_DEADLINE_MS, WORK_DEADLINE_MS } from './limits.ts';

export function createImages(connection: CriConnection): RuntimeImages {
  return {
    status: async (image) => {
      const answer = await connection.call({ deadlineMs: QUICK_DEADLINE_MS }, ({ images }, options) =>
        images.imageStatus({ image: { image } }, options),
      );
      return answer.image === undefined ? undefined : imageStatus(answer.image);
    },
    pull: async (image, credentials, signal) => {
      const request = { image: { image }, ...(credentials === undefined ? {} : { auth: authOf(credentials) }) };
      const answer = await connection.call({ deadlineMs: PULL_DEADLINE_MS, signal }, ({ images }, options) =>
        images.pullImage(request, options),
      );
      return answer.imageRef;
    },
    list: async () => {
      const answer = await connection.call({ deadlineMs: QUICK_DEADLINE_MS }, ({ images }, options) =>
        images.listImages({}, options),
      );
      return answer.images.map(imageStatus);
    },
    remove: async (id) => {
      await connection.call({ deadlineMs: WORK_DEADLINE_MS }, ({ images }, options) =>
        images.removeImage({ image: { image: id } }, options),
      );
    },
  };
}

const authOf = ({ server, ...rest }: RegistryCredentials) => ({ ...rest, serverAddress: server });

function imageStatus(image: Image): ImageStatus {
  const { id, repoTags, repoDigests, size, uid, username } = image;
  return {
    id,
    names: [...repoDigests, ...repoTags],
    sizeBytes: Number(size),
    ...(uid === undefined ? {} : { user: Number(uid.value) }),
    ...(username === '' ? {} : { userName: username }),
  };
}
