interface PriceTagProps {
  price: number;
  oldPrice?: number;
}

export function PriceTag({ price, oldPrice }: PriceTagProps) {
  return (
    <p className="flex items-center gap-2 m-0">
      <span className="price-amount font-semibold">{price} €</span>
      {oldPrice ? <s className="price-old text-sm">{oldPrice} €</s> : null}
    </p>
  );
}
