import { useDesk } from "../desk";
import type { Model } from "../wire";

export const REHEARSAL = "Rehearsal – no language model";

/** The model for the next message, grouped by vendor. */
export function ModelPicker() {
  const { models, model, modelId, loaded } = useDesk().catalog;
  const chosen = model.value;
  if (chosen === null) return <p class="picker-none">{loaded.value ? "No model available" : ""}</p>;
  const vendors = [...new Set(models.value.map((each) => each.vendor))];
  return (
    <div class={chosen.rehearsal ? "picker rehearsal" : "picker"}>
      <select
        aria-label="Model"
        data-testid="model-picker"
        value={chosen.id}
        onChange={(event) => {
          modelId.value = event.currentTarget.value;
        }}
      >
        {vendors.map((vendor) => (
          <optgroup key={vendor} label={vendor}>
            {models.value
              .filter((each) => each.vendor === vendor)
              .map((each) => (
                <option key={each.id} value={each.id} disabled={!each.available}>
                  {nameOf(each, models.value)}
                </option>
              ))}
          </optgroup>
        ))}
      </select>
    </div>
  );
}

/** A rehearsal is named for what it is, whatever its label; the dialect tells several apart. */
function nameOf(model: Model, all: readonly Model[]): string {
  const several = all.filter((each) => each.rehearsal).length > 1;
  const name = model.rehearsal ? REHEARSAL + (several ? ` (${model.dialect})` : "") : model.label;
  return model.available ? name : `${name} – not set up`;
}
