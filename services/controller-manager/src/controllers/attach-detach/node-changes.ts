import { fenceOf, isSelfFenced, type Node } from '@holdfast/api';
import type { InformerChange } from '@holdfast/client';
import { isSame } from '../../common/hash.ts';

/** A heartbeat changes nothing about volumes. */
export const saysMore = ({ object, old }: InformerChange<Node>): boolean =>
  !isSame(
    [object?.status.volumesInUse, object?.metadata.uid, object === undefined ? '' : vouchesOf(object)],
    [old?.status.volumesInUse, old?.metadata.uid, old === undefined ? '' : vouchesOf(old)],
  );

const vouchesOf = (node: Node): string => `${fenceOf(node)} ${isSelfFenced(node)}`;
