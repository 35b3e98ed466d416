import fc from "fast-check";

/** A text cut into pieces at random places, between any two UTF-16 units. */
export function cutUp(text: string): fc.Arbitrary<string[]> {
  return fc
    .uniqueArray(fc.nat({ max: text.length }), { maxLength: 40 })
    .map((places) => [...places.toSorted((a, b) => a - b), text.length])
    .map((places) => places.map((place, index) => text.slice(index === 0 ? 0 : places[index - 1], place)));
}
