import { describeError } from '@holdfast/platform';
import { VolumeError } from '../domain/volume-files.ts';
import { localVolumeWork } from './volume-work.ts';
import type { WorkAnswer, WorkOrder } from './volume-workers.ts';

/** Works in volumes for the kubelet that started it, one order after the other. A server that hangs holds only this process. */
async function carryOut({ name, args }: WorkOrder): Promise<WorkAnswer> {
  try {
    const work: (...given: never[]) => Promise<unknown> = localVolumeWork[name];
    return { result: await Reflect.apply(work, localVolumeWork, args) };
  } catch (error) {
    const isOfVolume = error instanceof VolumeError;
    return { failure: { isOfVolume, message: isOfVolume ? error.message : describeError(error) } };
  }
}

process.on('disconnect', () => process.exit(0));
process.on('message', (order: WorkOrder) => {
  void carryOut(order).then((answer) => process.send?.(answer));
});
