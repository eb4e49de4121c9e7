import { PODS } from '../../refs.ts';
import { defineResource } from '../define.ts';
import { completedConditions, podColumns } from './columns.ts';
import { setPodDefaults } from './defaults.ts';
import { podSelectableFields } from './fields.ts';
import { podStatusStrategy, podStrategy, podSubresources } from './strategy.ts';

export const podResource = defineResource(PODS, {
  setDefaults: setPodDefaults,
  strategy: podStrategy,
  status: podStatusStrategy,
  subresources: podSubresources,
  columns: podColumns,
  rowConditions: completedConditions,
  selectableFields: podSelectableFields,
});
