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
    pull: async (image, credentials, { signal }) => {
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
    used: () => usedImages(connection),
    directory: async () => {
      const answer = await connection.call({ deadlineMs: QUICK_DEADLINE_MS }, ({ images }, options) =>
        images.imageFsInfo({}, options),
      );
      return answer.imageFilesystems[0]?.fsId?.mountpoint;
    },
  };
}

/** Includes images of foreign containers: several nodes may share a runtime. */
async function usedImages(connection: CriConnection): Promise<ReadonlySet<string>> {
  const { containers } = await connection.call({ deadlineMs: QUICK_DEADLINE_MS }, ({ runtime }, options) =>
    runtime.listContainers({}, options),
  );
  const { info } = await connection.call({ deadlineMs: QUICK_DEADLINE_MS }, ({ runtime }, options) =>
    runtime.status({ verbose: true }, options),
  );
  const used = containers.flatMap(({ imageRef, image }) => [imageRef, image?.image ?? '']);
  return new Set([...used, sandboxImage(info['config'])].filter((each) => each !== ''));
}

/** containerd before 2.0 does not pin the image of sandboxes but reports its name. */
export function sandboxImage(config: string | undefined): string {
  const found = /"sandboxImage":\s*"([^"]*)"/.exec(config ?? '');
  return found?.[1] ?? '';
}

const authOf = ({ server, ...rest }: RegistryCredentials) => ({ ...rest, serverAddress: server });

function imageStatus(image: Image): ImageStatus {
  const { id, repoTags, repoDigests, size, uid, username, pinned } = image;
  return {
    id,
    names: [...repoDigests, ...repoTags],
    sizeBytes: Number(size),
    ...(uid === undefined ? {} : { user: Number(uid.value) }),
    ...(pinned ? { pinned } : {}),
    ...(username === '' ? {} : { userName: username }),
  };
}
